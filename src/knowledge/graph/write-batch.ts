// Writes nodes, then edges, a list at a time; a list that is not taken whole is written one by one, so that the failure
// of one costs that one. The founding document's rule: skip it, say so, go on.
import type { Clock } from '../../core/index.ts';
import { abortable, kindOf } from '../../core/index.ts';
import { withDeadline } from '../../resilience/index.ts';
import { isFatalForJob } from '../degradations.ts';
import type { EntityNode, EventNode, GraphBatch, GraphFailure } from './graph.ts';

export interface GraphWrites {
  readonly entity: EntityNode;
  readonly event: EventNode;
  readonly 'acted-in': GraphBatch['actedIn'][number];
  readonly about: GraphBatch['about'][number];
  readonly 'possibly-same': GraphBatch['possiblySame'][number];
}

/** What writes into a graph: all of a list or nothing. Resolves to the places in the list of what did not get in. */
export type GraphWriter = <What extends GraphFailure['what']>(
  what: What,
  spaceId: number,
  items: readonly GraphWrites[What][],
  signal: AbortSignal,
) => Promise<readonly number[]>;

export interface WriteLimits {
  readonly clock: Clock;
  /** For one statement: a list, or one node or edge. */
  readonly timeoutMs: number;
}

/** After so many that took too long in a row, the rest of the kind is not waited for. */
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

/** The same twice in one list would be written twice: each is written once. */
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
      inTime((deadline) => write(what, spaceId, some, deadline), limits, signal);
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

/** Fails only when the caller stops, the state store is away, or the graph is. */
async function inTime(
  work: (signal: AbortSignal) => Promise<readonly number[]>,
  { clock, timeoutMs }: WriteLimits,
  signal: AbortSignal,
): Promise<{ readonly error: unknown; readonly missing: readonly number[] }> {
  const deadline = withDeadline(signal, timeoutMs, clock, 'graph upsert');
  try {
    return { error: null, missing: await abortable(work(deadline.signal), deadline.signal) };
  } catch (error) {
    if (isFatalForJob(error, signal) || kindOf(error) === 'KNOWLEDGE_GRAPH_UNAVAILABLE') throw error;
    return { error, missing: [] };
  } finally {
    deadline.dispose();
  }
}
