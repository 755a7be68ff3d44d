// Copies of organizations, keys and deployments in memory.
import type { Clock, Emitter, IdSource, Random } from '../core/index.ts';
import { kindOf } from '../core/index.ts';
import { Mirror } from '../resilience/index.ts';
import type { TenantEvents } from './events.ts';
import type { TenantTopic } from './types.ts';

export interface MirrorDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: IdSource;
  readonly events: Emitter<TenantEvents>;
}

export function mirrorOf<Row>(
  { clock, random, events }: MirrorDeps,
  topic: TenantTopic,
  list: () => Promise<readonly Row[]>,
  show: (rows: readonly Row[]) => void,
): Mirror<Row> {
  const onFailure = (error: unknown): void =>
    events.emit('tenants:store-failed', { what: topic, cause: kindOf(error) });
  return new Mirror({ clock, random }, { list, show, onFailure });
}

/** Replaces the row with the same id, or appends it. */
export function withRow<Row extends { readonly id: string }>(rows: readonly Row[], row: Row): readonly Row[] {
  const at = rows.findIndex(({ id }) => id === row.id);
  return at === -1 ? [...rows, row] : rows.with(at, row);
}
