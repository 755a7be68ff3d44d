// Builds a graph beside the one that answers, batch after batch, and swaps them at the end.
import { KnowledgeError } from '../errors.ts';
import type { Graph, GraphFailure, GraphPart, RebuildResult } from '../ports.ts';
import {
  createGraph,
  dropGraph,
  graphExists,
  readProgress,
  swapGraphs,
  writeProgress,
} from './age-schema.ts';
import type { AgeSession } from './age-session.ts';

export interface AgeRebuild {
  readonly session: AgeSession;
  readonly owner: string;
  readonly now: () => Date;
  /** Into the graph beside. */
  readonly write: (part: GraphPart) => Promise<readonly GraphFailure[]>;
}

/** Dropping a large graph takes a while. */
const longestSwapMs = 600_000;

/** Fails, leaving the old graph to answer, when anything could not be written: half a graph is worse than an old one. */
export async function rebuildInAge(
  { session, owner, now, write }: AgeRebuild,
  ...[parts, progress, signal]: Parameters<Graph['rebuild']>
): Promise<RebuildResult> {
  const { since, position } = await session.run(async (age) => {
    if (!(await graphExists(age, 'beside'))) await createGraph(age, 'beside', owner, now());
    return readProgress(age);
  }, signal);
  const done = { entities: 0, events: 0 };
  for await (const part of parts(position)) {
    signal.throwIfAborted();
    const failures = await write(part);
    if (failures.length > 0) {
      await session.run((age) => dropGraph(age, 'beside'), undefined, { isAlone: true });
      throw incomplete(failures);
    }
    await session.run((age) => writeProgress(age, part.position), signal);
    done.entities += part.entities.length;
    done.events += part.events.length;
    progress({ ...done });
  }
  await session.run((age) => swapGraphs(age), signal, { leaseMs: longestSwapMs, isAlone: true });
  return { ...done, since };
}

function incomplete(failures: readonly GraphFailure[]): KnowledgeError {
  const [first] = failures;
  return new KnowledgeError(
    'KNOWLEDGE_GRAPH_UNAVAILABLE',
    `The graph was not rebuilt: ${failures.length} nodes or edges could not be written, the first a ${first?.what} (${first?.cause}). The graph from before still answers.`,
    { isRetryable: true, details: { failures: failures.length } },
  );
}
