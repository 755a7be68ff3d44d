// What kind of thing a sentence tells, by its words, its heading, and whether somebody has a date to keep.
import type { EventCategory } from '../../ports.ts';
import { cues } from './cues.ts';
import type { People } from './event-people.ts';
import { isEveryday, wordKind } from '../../text/lexicon.ts';
import type { Sentence } from './sentences.ts';

export interface Weighed {
  readonly category: EventCategory;
  readonly weight: number;
  /** Where in the sentence its word stands. */
  readonly at: number;
}

/** Below it, a sentence only talks. */
const leastWeight = 2;

const due = /\b(?:by|until|before|due|no later than|deadline:?)\s/i;
const denied = /\b(?:no|not|never|without|cannot|n['’]t)\b/;

/** Null when it tells nothing that would be an event. */
export function weighSentence(
  sentence: Sentence,
  body: string,
  people: People,
  date: Date | null,
): Weighed | null {
  const found = new Map<EventCategory, Weighed>();
  const add = (category: EventCategory, weight: number, at: number): void => {
    const known = found.get(category);
    // A second word for the same says little more.
    const sum = known ? Math.max(known.weight, weight) + Math.min(known.weight, weight) / 4 : weight;
    found.set(category, { category, weight: sum, at: known?.at ?? at });
  };
  const lower = body.toLowerCase();
  for (const { category, pattern, weight } of cues) {
    const at = lower.search(pattern);
    if (at >= 0 && !(category === 'Execution' && denied.test(lower.slice(0, at)))) add(category, weight, at);
  }
  if (people.actor && date && due.test(body)) add('Commitment', 2, 0);
  if (isPlan(body, people) || isTask(sentence, body, people)) add('Commitment', 3, 0);
  addSection(found, sentence);
  if (!people.actor) found.delete('Commitment');
  let best: Weighed | null = null;
  for (const each of found.values()) if (each.weight > (best?.weight ?? 0)) best = each;
  return best && best.weight >= leastWeight ? best : null;
}

function addSection(found: Map<EventCategory, Weighed>, { section, isItem }: Sentence): void {
  if (!section) return;
  const known = found.get(section.category);
  const bonus = isItem ? section.item : section.sentence;
  if (!known && bonus < leastWeight) return;
  found.set(section.category, {
    category: section.category,
    weight: (known?.weight ?? 0) + bonus,
    at: known?.at ?? 0,
  });
}

/** "Ann to discuss it with Ben". */
const isPlan = (body: string, { actor }: People): boolean =>
  actor !== null &&
  /^\S+(?: \S+)? to \p{Ll}/u.test(body) &&
  body.startsWith(actor.name.split(' ', 1)[0] ?? body);

/** "Complete the report by Friday", behind a name and a colon in a list. */
function isTask({ section, isItem }: Sentence, body: string, { isSpeaker }: People): boolean {
  if (!isSpeaker || !isItem) return false;
  const [first = ''] = body.toLowerCase().split(/[^\p{L}-]/u, 1);
  if (wordKind(first) === 'verb') return true;
  return section?.category === 'Commitment' && (isEveryday(first) || wordKind(first) === undefined);
}
