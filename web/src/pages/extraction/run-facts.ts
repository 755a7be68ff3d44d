// What is said of a run in several places.
import type { ExtractionRunAnswer } from '../../../../src/http/contract.ts';
import type { Tone } from '../../theme.ts';

type State = ExtractionRunAnswer['state'];

export const runTone: Readonly<Record<State, Tone>> = {
  waiting: 'idle',
  running: 'busy',
  completed: 'good',
  incomplete: 'warning',
  failed: 'bad',
  interrupted: 'warning',
};

export const isOpen = ({ state }: Pick<ExtractionRunAnswer, 'state'>): boolean =>
  state === 'waiting' || state === 'running';

export const itemsOf = ({ types }: Pick<ExtractionRunAnswer, 'types'>): number =>
  types.reduce((sum, { items }) => sum + items, 0);

/** Null unless every type says how many there are. */
export const totalOf = ({ types }: Pick<ExtractionRunAnswer, 'types'>): number | null =>
  types.length === 0 || types.some(({ total }) => total === null)
    ? null
    : types.reduce((sum, { total }) => sum + (total ?? 0), 0);

export function percentOf(done: number, total: number | null): number {
  if (total === null || total === 0) return 0;
  return Math.min(100, (done / total) * 100);
}
