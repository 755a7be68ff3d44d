// Writes nodes, then edges, list by list. A list that fails as a whole is written item by item, so that one failure
// costs one item (founding document: skip it, report it, continue). Item by item and not by bisection, because every
// half with a hanging item would wait for the timeout again.
import type { Clock } from '../../core/index.ts';
import { kindOf, executeWithDeadline } from '../../core/index.ts';
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

export async function writeBatch(
  write: GraphWriter,
  part: GraphBatch,
  limits: WriteLimits,
  signal: AbortSignal,
): Promise<readonly GraphFailure[]> {
  const { spaceId } = part;
  const lists = [
    listOf('entity', part.entities, ({ entityId }) => entityId),
    listOf('event', part.events, ({ eventId }) => eventId),
    listOf('acted-in', part.actedIn, ({ entityId, eventId, role }) => `${entityId} ${role} ${eventId}`),
    listOf('about', part.about, ({ eventId, entityId }) => `${eventId} ${entityId}`),
    listOf('possibly-same', part.possiblySame, ({ entityA, entityB }) => `${entityA} ${entityB}`),
  ];
  const failures: GraphFailure[] = [];
  for (const list of lists) failures.push(...(await list(write, spaceId, limits, signal)));
  return failures;
}

type WriteList = (
  write: GraphWriter,
  spaceId: number,
  limits: WriteLimits,
  signal: AbortSignal,
) => Promise<readonly GraphFailure[]>;

/** Duplicates within a list are written once. */
function listOf<What extends GraphFailure['what']>(
  what: What,
  all: readonly GraphWrites[What][],
  idOf: (item: GraphWrites[What]) => string,
): WriteList {
  const items = [...new Map(all.map((item) => [idOf(item), item])).values()];
  return async (write, spaceId, limits, signal) => {
    if (items.length === 0) return [];
    const failureOf = (item: GraphWrites[What], cause: string): GraphFailure => ({
      what,
      id: idOf(item),
      cause,
    });
    const within = (some: typeof items) =>
      writeInTime((deadline) => write(what, spaceId, some, deadline), limits, signal);
    const whole = await within(items);
    if (whole.error === null)
      return whole.missing.flatMap((index) => {
        const item = items[index];
        return item ? [failureOf(item, 'NOT_WRITTEN')] : [];
      });
    if (items.length === 1) return items.map((item) => failureOf(item, kindOf(whole.error)));
    const failures: GraphFailure[] = [];
    let timeouts = 0;
    for (const item of items) {
      const one = timeouts < maxTimeouts ? await within([item]) : { error: null, cause: timedOut };
      const cause =
        'cause' in one
          ? one.cause
          : one.error !== null
            ? kindOf(one.error)
            : one.missing.length > 0
              ? 'NOT_WRITTEN'
              : null;
      timeouts = cause === timedOut ? timeouts + 1 : 0;
      if (cause !== null) failures.push(failureOf(item, cause));
    }
    return failures;
  };
}

/** Fails only with the caller's signal, when the state store is down, or when the graph is unavailable. */
async function writeInTime(
  work: (signal: AbortSignal) => Promise<readonly number[]>,
  { clock, timeoutMs }: WriteLimits,
  signal: AbortSignal,
): Promise<{ readonly error: unknown; readonly missing: readonly number[] }> {
  try {
    return {
      error: null,
      missing: await executeWithDeadline(work, { clock, timeoutMs, operation: 'graph upsert', signal }),
    };
  } catch (error) {
    if (isFatalForJob(error, signal) || kindOf(error) === 'KNOWLEDGE_GRAPH_UNAVAILABLE') throw error;
    return { error, missing: [] };
  }
}
