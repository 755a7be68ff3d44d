// Who a sentence is about: who speaks, whom it names first, whom it addresses.
import type { DocumentView } from '../../documents/document-view.ts';
import type { FoundMention } from './found-mention.ts';
import type { Sentence } from './sentences.ts';

/** A mention with the name that events call it by. */
export type RefMention = FoundMention & { readonly ref: string };

/** A chunk as events are found in it. */
export interface EventScene {
  readonly text: string;
  /** In the order of their places. */
  readonly mentions: readonly RefMention[];
  /** Who says "I" where nobody else speaks, if this chunk names them. */
  readonly author: RefMention | null;
  readonly view: DocumentView;
}

export interface People {
  readonly actor: RefMention | null;
  /** The actor says it, rather than being spoken of. */
  readonly isSpeaker: boolean;
  readonly others: readonly RefMention[];
}

interface Range {
  readonly start: number;
  readonly end: number;
}

export function mentionsIn({ mentions }: EventScene, { start, end }: Range): readonly RefMention[] {
  let low = 0;
  let high = mentions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((mentions[middle]?.start ?? 0) < start) low = middle + 1;
    else high = middle;
  }
  const found: RefMention[] = [];
  for (let at = low; at < mentions.length; at++) {
    const mention = mentions[at];
    if (!mention || mention.start >= end) break;
    found.push(mention);
  }
  return found;
}

const firstPerson = /^\W*(?:I|My|We)\b|\b(?:I['’](?:m|ve|ll)|I (?:am|have|will|just|got|recommend))\b/;
const thirdPerson = /^(?:He|She)\b/;
const asks = /\bplease\b/i;

/** `before`: whom the sentence before was about, for one that begins with "He" or "She". */
export function peopleOf(
  scene: EventScene,
  sentence: Sentence,
  body: string,
  before: RefMention | null,
): People {
  const named = mentionsIn(scene, sentence).filter(({ type }) => type === 'person');
  const speaker = sentence.speaker ? (mentionsIn(scene, sentence.speaker)[0] ?? null) : null;
  const isOwn = firstPerson.test(body);
  const voice = speaker ?? (isOwn ? scene.author : null);
  const actor = actorOf({ scene, sentence, named, voice, isOwn, body, before });
  const others = [...named, ...(speaker ? [speaker] : [])].filter(({ name }) => name !== actor?.name);
  return { actor, isSpeaker: actor !== null && actor === speaker, others: unique(others) };
}

function actorOf({
  scene,
  sentence,
  named,
  voice,
  isOwn,
  body,
  before,
}: {
  readonly scene: EventScene;
  readonly sentence: Sentence;
  readonly named: readonly RefMention[];
  readonly voice: RefMention | null;
  readonly isOwn: boolean;
  readonly body: string;
  readonly before: RefMention | null;
}): RefMention | null {
  // Who is asked for something has to do it, not who asks.
  if (asks.test(body)) return named[0] ?? null;
  if (!voice && thirdPerson.test(body)) return before ?? named[0] ?? null;
  const opening = named.find(({ start }) => scene.text.slice(sentence.start, start).trim() === '') ?? null;
  if (voice && (isOwn || opening === null || sentence.isItem)) return voice;
  return opening ?? named[0] ?? null;
}

const unique = (mentions: readonly RefMention[]): readonly RefMention[] => [
  ...new Map(mentions.map((mention) => [mention.name, mention])).values(),
];
