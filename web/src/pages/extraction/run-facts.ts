// Labels and figures of a run that several components use.
import type { ExtractionRun } from '../../../../src/api/extraction.ts';
import type { Tone } from '../../theme.ts';

type State = ExtractionRun['state'];

export const runTone: Readonly<Record<State, Tone>> = {
  queued: 'idle',
  running: 'busy',
  completed: 'good',
  incomplete: 'warning',
  failed: 'bad',
  interrupted: 'warning',
};

export const isOpen = ({ state }: Pick<ExtractionRun, 'state'>): boolean =>
  state === 'queued' || state === 'running';

export const itemsOf = ({ types }: Pick<ExtractionRun, 'types'>): number =>
  types.reduce((sum, { items }) => sum + items, 0);

/** Null unless every type has a total. */
export const totalOf = ({ types }: Pick<ExtractionRun, 'types'>): number | null =>
  types.length === 0 || types.some(({ total }) => total === null)
    ? null
    : types.reduce((sum, { total }) => sum + (total ?? 0), 0);

export const originLabels: Readonly<Record<ExtractionRun['origin'], string>> = {
  schedule: 'Scheduled',
  http: 'Manual',
  cli: 'CLI',
};

/** `3 of 12 types`; null while no type is known. */
export function typesText({ types }: Pick<ExtractionRun, 'types'>): string | null {
  if (types.length === 0) return null;
  const complete = types.filter(({ state }) => state === 'completed').length;
  return complete === types.length ? `all ${complete} types` : `${complete} of ${types.length} types`;
}

export function percentOf(done: number, total: number | null): number {
  if (total === null || total === 0) return 0;
  return Math.min(100, (done / total) * 100);
}

/** What an empty list of failed pages means: with types that are pending or incomplete it is not a success. */
export function noFailures(run: Pick<ExtractionRun, 'state' | 'types'>): {
  readonly title: string;
  readonly children: string;
} {
  const pending = run.types.filter(({ state }) => state === 'queued' || state === 'running').length;
  const incomplete = run.types.filter(({ state }) => state === 'incomplete').length;
  const unfinished = `${pending} of ${run.types.length} types are not extracted yet.`;
  if (isOpen(run)) return { title: 'No failed pages so far', children: unfinished };
  if (pending > 0) return { title: 'No failed pages in what was extracted', children: unfinished };
  if (incomplete > 0)
    return {
      title: 'No failed pages, but items are missing',
      children: `${incomplete} of ${run.types.length} types are incomplete. The vault has the reasons.`,
    };
  return { title: 'No failed pages', children: 'Pages that fail after all retries are listed here.' };
}
