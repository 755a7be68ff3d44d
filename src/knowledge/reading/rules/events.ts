// Finds events in sentences: category, actors and time; and the meeting or message that the header lines describe.
import type { DocumentAnnotations } from '../../documents/document.ts';
import type { HeadLine, HeadRole } from '../../documents/headers.ts';
import type { ActorRole, EventCategory, ReadEvent } from '../types.ts';
import { findDate } from '../../text/dates.ts';
import { isEveryday, wordKind } from '../../text/lexicon.ts';
import type { TextSpan } from '../../text/quotes.ts';
import { quoteRange } from '../../text/quotes.ts';
import { truncate } from '../../text/spans.ts';
import type { FoundMention } from './mentions.ts';
import type { Sentence } from './sentences.ts';

interface Cue {
  readonly category: EventCategory;
  readonly pattern: RegExp;
  readonly weight: number;
}

/**
 * Category, weight and pattern. Patterns match lower-case text, without the case and Unicode flags, which make the search
 * several times slower. At equal weight the earlier one wins.
 */
const cues: readonly Cue[] = String.raw`
Decision 3 decided|decides|agreed (?:to|on|that|we)|have agreed|chose|opted|settled on|voted|resolved to|ruled|signed off|we (?:are|will be) going with
Decision 3 approved|has approved|selected|decision:|the decision (?:is|was)|let['’]s (?:do it|go (?:ahead|with))|go ahead with|takes? priority|prioriti[sz]ed?|adopted|rejected|greenlit
Decision 2 (?:going|go) with|^we (?:need|have) to|paused|on hold|hold off|confirmed (?:that )?(?:we|they)
Commitment 3 committed to|commits to|promised|volunteered|pledged|assigned to|(?:is|are) responsible for|takes? over|took over|deadline|due (?:on|by|date)?
Commitment 3 i['’]ll|i will|we['’]ll|on it|will (?:have|send|deliver|prepare|finish|complete|review|share|update|provide|write|draft|schedule|set up|configure|coordinate|present|follow up|focus|handle|look into|fix|ship|publish|create|finali[sz]e|organi[sz]e|contact|reach out|check|lead|own|do)
Commitment 2 agreed to (?:update|send|deliver|prepare|finish|complete|review|share|provide|write|draft|schedule)|please(?! let me)|to follow up|shall
Execution 3 completed|finished|shipped|delivered|deployed|launched|released|implemented|merged|published|rolled out|went live|is live|are live|set up and running|is done|are done|done!|fixed|resolved|closed
Execution 2 (?:is|are|all|now) (?:\d+ ?% )?(?:ready|complete|configured|done|set|locked(?: in)?|approved|scheduled|finished)|\d+ ?% (?:complete|done|ready|of)|on track|prepared|uploaded|configured|submitted|got approval|signed|scheduled|confirmed|tested|built|migrated|hired|reported
QualityRisk 3 concern(?:s|ed)?|risks?|worried|worr(?:y|ies)|bottlenecks?|bugs?|outages?|incidents?|blockers?|blocked|vulnerabilit(?:y|ies)|regressions?|at risk|breach(?:ed)?|flaky|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|stretched thin|escalat(?:ed|ing)
QualityRisk 2 (?:may|might|could|will|would|does|do|did) not (?:be |have |handle|hold|meet|suffice|scale|work|make)|(?:may|might|could) (?:become|slip|fail|break|delay|miss)|won['’]t|insufficient|shortage|behind schedule|overdue|delay(?:s|ed)?|slipp(?:ed|ing)|extra (?:days?|weeks?|months?)|not (?:yet )?(?:ready|complete|done|tested)|issues?|problems?|defects?|sla|evaluating alternatives|churn|over budget|flagged|unstable|missed
Feedback 3 feedback|requested|suggested|complain(?:ed|s|t|ts)|praised|preferred|would (?:like|prefer)|recommend(?:s|ed|ation)?|review comments?|liked|disliked|criticized|criticised
Feedback 2 great work|nice work|excellent work|well done|love the|looks? great|asked (?:for|that|whether)|thinks|survey
Change 3 (?:moved|shifted|changed|switched|reduced|increased|cut|raised|lowered|extended|renamed|migrated|downgraded|upgraded) (?:[a-z]+ )?(?:from|to|by)|postponed|rescheduled|replaced|renamed|re-?scoped|no longer|instead of|reverted|rolled back|superseded
Change 2 changed|added|removed|moved|reduced|increased|dropped|new date|updated|revised|reorgani[sz]ed
Collaboration 3 met with|worked (?:closely )?with|working with|paired (?:with|on)|collaborat(?:ed|es|ing|ion)|together with|workshop|joint(?:ly)?|co-authored|helped|helping
Collaboration 2 sync(?:ed)?|kick-?off|discuss(?:ed)?|brainstorm(?:ed)?|coordinat(?:ed|es|ing)
Stakeholder 3 partnership|term sheet|investors?|regulators?|stakeholders?|shareholders?|signed (?:a |the )?(?:contract|deal|agreement) with|joined (?:as|the)|resigned|appointed|promoted to|left the company|onboarded|key customer|renewed
Stakeholder 2 announced
Stakeholder 1.5 customers?|clients?|vendors?|board|competitors?
`
  .trim()
  .split('\n')
  .map((line) => {
    const [category = '', weight, ...words] = line.split(' ');
    const pattern = new RegExp(`\\b(?:${words.join(' ')})(?![a-z0-9])`);
    return { category: category as EventCategory, weight: Number(weight), pattern };
  });

const maxSentenceLength = 2_000;
const maxNarrativeLength = 300;

/** A mention with its ref. */
export type RefMention = FoundMention & { readonly ref: string };

/** A chunk with everything that event detection needs. Offsets refer to its text. */
interface EventContext {
  readonly text: string;
  /** Sorted by position. */
  readonly mentions: readonly RefMention[];
  /** The document's author, if the chunk mentions them. */
  readonly author: RefMention | null;
  readonly annotations: DocumentAnnotations;
}

interface People {
  readonly actor: RefMention | null;
  /** The actor is the speaker of the sentence. */
  readonly isSpeaker: boolean;
  readonly others: readonly RefMention[];
}

export function findEvents(scene: EventContext, sentences: readonly Sentence[]): readonly ReadEvent[] {
  const events: ReadEvent[] = [];
  let before: RefMention | null = null;
  for (const sentence of sentences) {
    const body = scene.text.slice(sentence.start, Math.min(sentence.end, sentence.start + maxSentenceLength));
    const people = peopleOf(scene, sentence, body, before);
    before = people.actor ?? before;
    // A question is not an event.
    if (body.endsWith('?') || body.length < 8) continue;
    const date = findDate(body, scene.annotations.date);
    const weighed = weighSentence(sentence, body, people, date);
    if (!weighed) continue;
    const { category, weight, at } = weighed;
    const { isItem, speaker, end } = sentence;
    const start = isItem && speaker ? speaker.start : sentence.start;
    const subject = mentionsIn(scene, sentence).find(({ type }) => subjectTypes.has(type));
    events.push({
      category,
      eventTime: date ?? scene.annotations.date,
      narrative: narrativeOf(scene.text.slice(start, end)),
      subjectRef: subject?.ref ?? null,
      subject: subject?.name ?? (category === 'Commitment' ? taskOf(body, isItem) : null),
      actors: actorsOf(category, people),
      evidence: [evidenceOf(scene.text, quoteRange(scene.text, { start, end }, sentence.start + at))],
      confidence: Math.min(0.6, 0.3 + weight * 0.05),
    });
  }
  return events;
}

const evidenceOf = (text: string, { start, end }: TextSpan): ReadEvent['evidence'][number] => ({
  quote: text.slice(start, end),
  startChar: start,
  endChar: end,
});

const subjectTypes = new Set(['project', 'organization', 'object']);

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

/** One line, without list and emphasis markers. */
function narrativeOf(quote: string): string {
  const line = quote
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\*\*|^[-*•]\s/g, '')
    .trim();
  return truncate(line, maxNarrativeLength);
}

const rest = '(.{3,80}?)(?=\\s(?:by|until|before|due|for|on|to|in)\\s|[.,;(]|$)';
const promised = new RegExp(`\\b(?:to|will|['’]ll)\\s\\p{Ll}+\\s${rest}`, 'u');
const listed = new RegExp(`^[\\p{L}-]+\\s${rest}`, 'u');

/** The task without verb and date: "will send | the quote | by Friday". */
function taskOf(body: string, isItem: boolean): string | null {
  const line = body.slice(0, 300).replaceAll(/\s+/g, ' ');
  return (promised.exec(line) ?? (isItem ? listed.exec(line) : null))?.[1]?.trim() ?? null;
}

function mentionsIn({ mentions }: EventContext, { start, end }: TextSpan): readonly RefMention[] {
  let low = 0;
  let high = mentions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((mentions[middle]?.start ?? 0) < start) low = middle + 1;
    else high = middle;
  }
  let after = low;
  while ((mentions[after]?.start ?? end) < end) after++;
  return mentions.slice(low, after);
}

const firstPerson = /^\W*(?:I|My|We)\b|\b(?:I['’](?:m|ve|ll)|I (?:am|have|will|just|got|recommend))\b/;
const thirdPerson = /^(?:He|She)\b/;
const request = /\bplease\b/i;

/** `before`: the actor of the previous sentence, for one that begins with "He" or "She". */
function peopleOf(scene: EventContext, sentence: Sentence, body: string, before: RefMention | null): People {
  const named = mentionsIn(scene, sentence).filter(({ type }) => type === 'person');
  const speaker = sentence.speaker ? (mentionsIn(scene, sentence.speaker)[0] ?? null) : null;
  const isOwn = firstPerson.test(body);
  const voice = speaker ?? (isOwn ? scene.author : null);
  const actorOf = (): RefMention | null => {
    // A request is a task of the person addressed, not of the speaker.
    if (request.test(body)) return named[0] ?? null;
    if (!voice && thirdPerson.test(body)) return before ?? named[0] ?? null;
    const opening = named.find(({ start }) => scene.text.slice(sentence.start, start).trim() === '');
    if (voice && (isOwn || !opening || sentence.isItem)) return voice;
    return opening ?? named[0] ?? null;
  };
  const actor = actorOf();
  const others = [...named, ...(speaker ? [speaker] : [])].filter(
    (other) => actor === null || personKey(other) !== personKey(actor),
  );
  const unique = new Map(others.map((mention) => [personKey(mention), mention]));
  return { actor, isSpeaker: actor !== null && actor === speaker, others: [...unique.values()] };
}

/** Two people of one name differ in their clues. */
const personKey = ({ name, clues }: RefMention): string =>
  JSON.stringify([name, clues.email, clues.organization]);

interface Weighed {
  readonly category: EventCategory;
  readonly weight: number;
  /** Offset of the cue word in the sentence. */
  readonly at: number;
}

/** Sentences below this weight are not events. */
const minWeight = 2;

const due = /\b(?:by|until|before|due|no later than|deadline:?)\s/i;
const denied = /\b(?:no|not|never|without|cannot|n['’]t)\b/;

/** Null when the sentence is not an event. */
function weighSentence(sentence: Sentence, body: string, people: People, date: Date | null): Weighed | null {
  const found = new Map<EventCategory, Weighed>();
  const add = (category: EventCategory, weight: number, at: number): void => {
    const known = found.get(category);
    // A second cue of the same category adds little.
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
  return best && best.weight >= minWeight ? best : null;
}

function addSection(found: Map<EventCategory, Weighed>, { section, isItem }: Sentence): void {
  if (!section) return;
  const known = found.get(section.category);
  const bonus = isItem ? section.item : section.sentence;
  if (!known && bonus < minWeight) return;
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

/** "Complete the report by Friday", after a name and a colon in a list. */
function isTask({ section, isItem }: Sentence, body: string, { isSpeaker }: People): boolean {
  if (!isSpeaker || !isItem) return false;
  const [first = ''] = body.toLowerCase().split(/[^\p{L}-]/u, 1);
  if (wordKind(first) === 'verb') return true;
  return section?.category === 'Commitment' && (isEveryday(first) || wordKind(first) === undefined);
}

const headerRoles: Readonly<Record<HeadRole, ActorRole>> = {
  author: 'owner',
  decider: 'owner',
  participant: 'contributor',
  recipient: 'stakeholder',
  stakeholder: 'stakeholder',
};
const maxActors = 50;
const maxLines = 5;

/** Null with fewer than two people. */
export function headEvent(
  text: string,
  head: readonly HeadLine[],
  mentions: readonly RefMention[],
  title: string,
  annotations: DocumentAnnotations,
): ReadEvent | null {
  const actors = new Map<string, { ref: string; name: string; role: ActorRole }>();
  const lines = head.slice(0, maxLines);
  for (const { start, end, role } of lines)
    for (const mention of mentions) {
      const { ref, name, type, start: at } = mention;
      const key = personKey(mention);
      if (type === 'person' && at >= start && at < end && !actors.has(key) && actors.size < maxActors)
        actors.set(key, { ref, name, role: headerRoles[role] });
    }
  if (actors.size < 2) return null;
  const names = [...actors.values()].map(({ name }) => name);
  return {
    category: 'Collaboration',
    eventTime: annotations.date,
    narrative: narrativeOf(`${narrativeOf(title) || 'This document'}: ${names.join(', ')}`),
    subjectRef: null,
    subject: narrativeOf(title) || null,
    actors: [...actors.values()].map(({ ref, role }) => ({ ref, role })),
    evidence: lines.map((line) => evidenceOf(text, quoteRange(text, line))),
    confidence: 0.4,
  };
}
