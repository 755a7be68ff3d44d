// Labels for values of the API.
import type { KnowledgeEvent } from '../../../../src/api/knowledge.ts';
import type { Entity } from '../../../../src/api/entities.ts';
import type { Artifact } from '../../../../src/api/artifacts.ts';
import { percentText } from '../../components/format.ts';
import type { Tone } from '../../theme.ts';

export type EntityType = Entity['type'];
export type ArtifactType = Artifact['type'];
export type Category = KnowledgeEvent['category'];
type Step = keyof Artifact['status']['steps'];

export const entityTypeLabels: Readonly<Record<EntityType, string>> = {
  person: 'person',
  organization: 'organization',
  project: 'project',
  object: 'thing',
  place: 'place',
  other: 'other',
};

export const artifactTypeLabels: Readonly<Record<ArtifactType, string>> = {
  email: 'email',
  doc: 'document',
  chat: 'chat',
  transcript: 'transcript',
  note: 'note',
};

export const categoryLabels: Readonly<Record<Category, string>> = {
  Commitment: 'commitment',
  Execution: 'execution',
  Decision: 'decision',
  Collaboration: 'collaboration',
  QualityRisk: 'risk',
  Feedback: 'feedback',
  Change: 'change',
  Stakeholder: 'stakeholder',
};

export const reviewLabels: Readonly<Record<NonNullable<Entity['review_reason']>, string>> = {
  'embedding-missing': 'no embedding yet',
  'candidates-unknown': 'candidates not searched',
  'confirmation-failed': 'model confirmation failed',
  'resolution-failed': 'name comparison failed',
  uncertain: 'possible duplicate',
};

export const stepLabels: Readonly<Record<Step, string>> = {
  index: 'indexed',
  read: 'read',
  embed: 'embedded',
  graph: 'linked',
};

export const stateTones: Readonly<Record<Artifact['status']['state'], Tone>> = {
  queued: 'idle',
  running: 'busy',
  completed: 'good',
  degraded: 'warning',
};

/** `62%`; `< 1%` and `> 99%` at the ends: a pair under review is never certain. */
export const likelyText = (share: number): string =>
  share < 0.01 ? '< 1%' : share > 0.99 ? '> 99%' : percentText(share);

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

/** Name with organization or email, to tell entities of the same name apart. */
export const knownAs = ({
  canonical_name: name,
  email,
  organization,
}: Pick<Entity, 'canonical_name' | 'email' | 'organization'>): string =>
  (organization ?? email) === null ? name : `${name} (${organization ?? email})`;
