// The job that builds the graph anew from the tables, beside the one that answers.
import { z } from 'zod';
import type { JobDefinition, JobHandler } from '../../core/index.ts';
import type { ArtifactStore, Graph, SpaceStore } from '../ports.ts';
import type { GraphKeeper } from './graph-keeper.ts';
import type { GraphSource } from './graph-source.ts';

export const graphRebuildJob: JobDefinition<Record<string, never>> = {
  name: 'knowledge.graph-rebuild',
  description: 'Builds the graph anew from the tables; the old one answers until the new one is whole.',
  parse: (raw) => z.strictObject({}).parse(raw),
  // One that was interrupted goes on where it was.
  retries: 4,
  retryDelayMs: 30_000,
  retryBackoff: true,
  retryDelayMaxMs: 600_000,
  concurrency: 1,
  timeoutMs: 6 * 3_600_000,
};

/** While one waits or runs, another is not added. */
export const graphRebuildKey = 'rebuild';

export interface GraphRebuildParts {
  readonly graph: Graph;
  readonly source: GraphSource;
  readonly keeper: GraphKeeper;
  readonly artifacts: Pick<ArtifactStore, 'saveSteps'>;
  readonly spaces: Pick<SpaceStore, 'list'>;
}

export function graphRebuildHandler(parts: GraphRebuildParts): JobHandler<Record<string, never>> {
  const { graph, source, spaces } = parts;
  return async (_, { signal, progress }) => {
    if (graph.backend === 'off') return { skipped: 'The graph is switched off (GRAPH_BACKEND=off).' };
    if (!graph.isApart)
      return { skipped: 'The tables are the graph (GRAPH_BACKEND=sql): nothing has to be rebuilt.' };
    const state = await graph.availability(signal);
    if (state.state === 'unavailable') return { skipped: `${state.reason} ${state.remedy}` };
    const { entities, events } = await source.counts();
    const total = entities + events;
    const built = await graph.rebuild(
      (after) => source.all(after),
      (done) => progress({ done: Math.min(done.entities + done.events, total), total }),
      signal,
    );
    if (built.since !== null) await catchUp(parts, built.since, signal);
    for (const { spaceId } of await spaces.list(undefined)) await graph.prune(spaceId, signal);
    return { result: { entities: built.entities, events: built.events } };
  };
}

/** What went into the old graph while the new one was built. */
async function catchUp(
  { source, keeper, artifacts }: GraphRebuildParts,
  since: Date,
  signal: AbortSignal,
): Promise<void> {
  for (const { spaceId, chunkIds, entityIds } of await source.changedSince(since)) {
    if (chunkIds.length > 0) await artifacts.saveSteps(spaceId, await keeper.put(spaceId, chunkIds, signal));
    await keeper.refresh(spaceId, entityIds, signal);
  }
}
