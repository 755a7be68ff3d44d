// What the API's words are called on the page.
import type { ArtifactAnswer, EntityAnswer, KnowledgeEventAnswer } from '../../../../src/http/contract.ts';
import type { Tone } from '../../theme.ts';

export type EntityType = EntityAnswer['type'];
export type ArtifactType = ArtifactAnswer['type'];
export type Category = KnowledgeEventAnswer['category'];
type Step = keyof ArtifactAnswer['status']['steps'];

export const entityTypeWords: Readonly<Record<EntityType, string>> = {
  person: 'person',
  org: 'organization',
  project: 'project',
  object: 'thing',
  place: 'place',
  other: 'other',
};

export const artifactTypeWords: Readonly<Record<ArtifactType, string>> = {
  email: 'mail',
  doc: 'document',
  chat: 'chat',
  transcript: 'transcript',
  note: 'note',
};

export const categoryWords: Readonly<Record<Category, string>> = {
  Commitment: 'commitment',
  Execution: 'done',
  Decision: 'decision',
  Collaboration: 'collaboration',
  QualityRisk: 'risk',
  Feedback: 'feedback',
  Change: 'change',
  Stakeholder: 'stakeholder',
};

export const reviewWords: Readonly<Record<NonNullable<EntityAnswer['review_reason']>, string>> = {
  'embedding-missing': 'it has no vector yet',
  'candidates-unknown': 'who it could be was not looked up',
  'confirmation-failed': 'a model was asked and did not answer',
  'resolution-failed': 'comparing its names failed',
  uncertain: 'it may be the same as another',
};

export const stepWords: Readonly<Record<Step, string>> = {
  index: 'searchable',
  read: 'read',
  embed: 'embedded',
  graph: 'in the graph',
};

export const stateTones: Readonly<Record<ArtifactAnswer['status']['state'], Tone>> = {
  complete: 'good',
  processing: 'busy',
  partial: 'warning',
};

/** `3 mentions`, `1 mention`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** `62 %`; at the ends `less than 1 %` and `more than 99 %`: nobody is sure who asks. */
export const likelyText = (share: number): string =>
  share < 0.01 ? 'less than 1 %' : share > 0.99 ? 'more than 99 %' : `${Math.round(share * 100)} %`;

/** `0, 2–4, 9`. */
export function rangesText(positions: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const position of positions.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && position <= last[1] + 1) last[1] = position;
    else runs.push([position, position]);
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(', ');
}

/** What tells an entity from its namesakes. */
export const knownAs = ({
  canonical_name: name,
  email,
  organization,
}: Pick<EntityAnswer, 'canonical_name' | 'email' | 'organization'>): string =>
  (organization ?? email) === null ? name : `${name} (${organization ?? email})`;
