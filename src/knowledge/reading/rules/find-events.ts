// What happened, as far as words tell: one event a sentence at most, with who did it and when.
import type { ActorRole, EventCategory, ReadEvent } from '../../ports.ts';
import { quoteRange } from '../../text/quotes.ts';
import { findDate } from '../../text/dates.ts';
import type { EventScene, People, RefMention } from './event-people.ts';
import { mentionsIn, peopleOf } from './event-people.ts';
import type { Sentence } from './sentences.ts';
import type { Weighed } from './weigh-sentence.ts';
import { weighSentence } from './weigh-sentence.ts';

const longestSentence = 2_000;
const longestNarrative = 300;

/** Offsets are those of the scene's text. */
export function findEvents(scene: EventScene, sentences: readonly Sentence[]): readonly ReadEvent[] {
  const events: ReadEvent[] = [];
  let before: RefMention | null = null;
  for (const sentence of sentences) {
    const body = scene.text.slice(sentence.start, Math.min(sentence.end, sentence.start + longestSentence));
    const people = peopleOf(scene, sentence, body, before);
    before = people.actor ?? before;
    // A question tells nothing yet.
    if (body.endsWith('?') || body.length < 8) continue;
    const date = findDate(body, scene.view.date);
    const weighed = weighSentence(sentence, body, people, date);
    if (weighed) events.push(eventOf(scene, sentence, { body, people, date, weighed }));
  }
  return events;
}

function eventOf(
  scene: EventScene,
  sentence: Sentence,
  {
    body,
    people,
    date,
    weighed: { category, weight, at },
  }: {
    readonly body: string;
    readonly people: People;
    readonly date: Date | null;
    readonly weighed: Weighed;
  },
): ReadEvent {
  const { text, view } = scene;
  const { isItem, speaker, end } = sentence;
  const start = isItem && speaker ? speaker.start : sentence.start;
  const quote = quoteRange(text, { start, end }, sentence.start + at);
  const subject = mentionsIn(scene, sentence).find(({ type }) => subjectTypes.has(type));
  return {
    category,
    eventTime: date ?? view.date,
    narrative: narrativeOf(text.slice(start, end)),
    subjectRef: subject?.ref ?? null,
    subject: subject?.name ?? (category === 'Commitment' ? taskOf(body, isItem) : null),
    actors: actorsOf(category, people),
    evidence: [{ quote: text.slice(quote.start, quote.end), startChar: quote.start, endChar: quote.end }],
    confidence: Math.min(0.6, 0.3 + weight * 0.05),
  };
}

const subjectTypes = new Set(['project', 'org', 'object']);

const roles: Readonly<Record<EventCategory, ActorRole>> = {
  Commitment: 'owner',
  Decision: 'owner',
  Execution: 'contributor',
  Change: 'contributor',
  Collaboration: 'contributor',
  QualityRisk: 'reviewer',
  Feedback: 'reviewer',
  Stakeholder: 'stakeholder',
};

const actorsOf = (category: EventCategory, { actor, others }: People): ReadEvent['actors'] => [
  ...(actor ? [{ ref: actor.ref, role: roles[category] }] : []),
  ...others.slice(0, 20).map(({ ref }) => ({ ref, role: 'stakeholder' as const })),
];

/** One line, without marks of lists and emphasis. */
export function narrativeOf(quote: string): string {
  const line = quote
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\*\*|^[-*•]\s/g, '')
    .trim();
  return line.length <= longestNarrative ? line : `${line.slice(0, longestNarrative - 1).toWellFormed()}…`;
}

const rest = '(.{3,80}?)(?=\\s(?:by|until|before|due|for|on|to|in)\\s|[.,;(]|$)';
const promised = new RegExp(`\\b(?:to|will|['’]ll)\\s\\p{Ll}+\\s${rest}`, 'u');
const listed = new RegExp(`^[\\p{L}-]+\\s${rest}`, 'u');

/** What is to be done, without the verb and the date: "will send | the quote | by Friday". */
function taskOf(body: string, isItem: boolean): string | null {
  const line = body.slice(0, 300).replaceAll(/\s+/g, ' ');
  return (promised.exec(line) ?? (isItem ? listed.exec(line) : null))?.[1]?.trim() ?? null;
}
