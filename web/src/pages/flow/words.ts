// Words and numbers of the picture.
import type { FlowAnswer } from '../../../../src/http/contract.ts';

export type Degraded = FlowAnswer['degraded'];

export const plural = (count: number, word: string): string => (count === 1 ? word : `${word}s`);

export const counted = (count: number, word: string): string => `${count} ${plural(count, word)}`;

/** Kinds of a domain, without its name before them. */
export const degradedOf = (all: Degraded, domain: string): Degraded =>
  all
    .filter(({ kind }) => kind.startsWith(`${domain}.`))
    .map(({ kind, open }) => ({ kind: kind.slice(domain.length + 1), open }));

export const openOf = (degraded: Degraded): number => degraded.reduce((sum, { open }) => sum + open, 0);

/** Calls and limit of everything that runs; the limit is null unless every one has one. */
export function callsNow(running: FlowAnswer['extraction']['running']): {
  readonly calls: number;
  readonly limit: number | null;
} {
  return {
    calls: running.reduce((sum, run) => sum + (run.calls_last_minute ?? 0), 0),
    limit: running.reduce<number | null>(
      (sum, { calls_per_minute_limit: limit }) => (sum === null || limit === null ? null : sum + limit),
      0,
    ),
  };
}

/** What slows a run down, in words; null when nothing does. */
export function slowed({
  multiplier,
  refusals,
}: Pick<FlowAnswer['extraction']['running'][number], 'multiplier' | 'refusals'>): string | null {
  const parts = [
    multiplier > 1 ? `slowed down ${multiplier.toFixed(1)} times` : null,
    refusals > 0 ? `${refusals} refused` : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(', ');
}

/** Who has no answer from a model yet, in words. */
export function unanswered({
  unanswered: all,
  waiting,
}: Pick<FlowAnswer['gateway'], 'unanswered' | 'waiting'>): string {
  if (all === 0) return 'Nobody waits for an answer';
  return `${counted(all, 'request')} under way, ${waiting} ${waiting === 1 ? 'waits' : 'wait'} for a model`;
}
