// Writes nodes, then edges, list by list. A list that fails as a whole is written item by item, so that one failure
// costs one item (founding document: skip it, report it, continue). Item by item and not by bisection, because every
// half with a hanging item would wait for the timeout again.
import type { Clock } from '../../core/index.ts';
import { kindOf, withTimeout } from '../../core/index.ts';
import { isFatalForJob } from '../degradations.ts';
import type { EntityNode, EventNode, GraphBatch, GraphFailure } from './graph.ts';

export interface GraphWrites {
  readonly entity: EntityNode;
  readonly event: EventNode;
  readonly 'acted-in': GraphBatch['actedIn'][number];
  readonly about: GraphBatch['about'][number];
  readonly 'possibly-same': GraphBatch['possiblySame'][number];
}

/** Writes all of a list or nothing. Resolves to the indexes of items that were not written. */
export type GraphWriter = <What extends GraphFailure['what']>(
  what: What,
  spaceId: number,
  items: readonly GraphWrites[What][],
  signal: AbortSignal,
) => Promise<readonly number[]>;

export interface WriteLimits {
  readonly clock: Clock;
  /** For one statement: a list or a single item. */
  readonly timeoutMs: number;
}

/** After this many timeouts in a row the rest of the list is not tried. */
const maxTimeouts = 3;
const timedOut = 'DEADLINE_EXCEEDED';
const notWritten = 'NOT_WRITTEN';

export async function writeBatch(
  write: GraphWriter,
  batch: GraphBatch,
  { clock, timeoutMs }: WriteLimits,
  signal: AbortSignal,
): Promise<readonly GraphFailure[]> {
  const failures: GraphFailure[] = [];

  /** Duplicates within a list are written once. */
  async function writeList<What extends GraphFailure['what']>(
    what: What,
    all: readonly GraphWrites[What][],
    idOf: (item: GraphWrites[What]) => string,
  ): Promise<void> {
    const items = [...new Map(all.map((item) => [idOf(item), item])).values()];
    if (items.length === 0) return;
    /** The indexes of items that were not written, or the cause when all failed. */
    const tryWrite = async (some: typeof items): Promise<readonly number[] | string> => {
      const work = (callSignal: AbortSignal) => write(what, batch.spaceId, some, callSignal);
      try {
        return await withTimeout(work, { clock, timeoutMs, operation: 'graph upsert', signal });
      } catch (error) {
        if (isFatalForJob(error, signal) || kindOf(error) === 'KNOWLEDGE_GRAPH_UNAVAILABLE') throw error;
        return kindOf(error);
      }
    };
    const causeOf = (result: readonly number[] | string, index: number): string | null =>
      typeof result === 'string' ? result : result.includes(index) ? notWritten : null;
    const whole = await tryWrite(items);
    const isRetried = typeof whole === 'string' && items.length > 1;
    let timeouts = 0;
    for (const [index, item] of items.entries()) {
      const cause = !isRetried
        ? causeOf(whole, index)
        : timeouts < maxTimeouts
          ? causeOf(await tryWrite([item]), 0)
          : timedOut;
      timeouts = cause === timedOut ? timeouts + 1 : 0;
      if (cause !== null) failures.push({ what, id: idOf(item), cause });
    }
  }

  await writeList('entity', batch.entities, ({ entityId }) => entityId);
  await writeList('event', batch.events, ({ eventId }) => eventId);
  await writeList(
    'acted-in',
    batch.actedIn,
    ({ entityId, eventId, role }) => `${entityId} ${role} ${eventId}`,
  );
  await writeList('about', batch.about, ({ eventId, entityId }) => `${eventId} ${entityId}`);
  await writeList('possibly-same', batch.possiblySame, ({ entityA, entityB }) => `${entityA} ${entityB}`);
  return failures;
}
