// Keeps a separate graph in sync with the tables after readings, merges and removals. What fails is recorded in the
// ledger and repaired later.
import { z } from 'zod';
import type { JobDefinition, JobHandler, Log } from '../../core/index.ts';
import { kindOf, messageOf } from '../../core/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { ArtifactStore } from '../artifacts/artifact-store.ts';
import type { ChunkStepResult, RemovedIds } from '../artifacts/types.ts';
import { graphDegradations, isFatalForJob } from '../degradations.ts';
import { KnowledgeError } from '../errors.ts';
import type { Spaces } from '../spaces/spaces.ts';
import type { GraphSource } from './graph-source.ts';
import type { Graph, GraphFailure } from './graph.ts';
import { supersededCause } from './graph.ts';

export interface GraphSyncDeps {
  readonly graph: Graph;
  readonly source: GraphSource;
  readonly artifacts: Pick<ArtifactStore, 'saveSteps'>;
  readonly ledger: LedgerRecorder;
  readonly log: Log;
}

export class GraphSync {
  readonly isEnabled: boolean;
  readonly #deps: GraphSyncDeps;

  constructor(deps: GraphSyncDeps) {
    this.#deps = deps;
    this.isEnabled = deps.graph.backend !== 'off';
  }

  /**
   * One result per chunk: done only when all its nodes and edges are written. Fails only when the state store is down.
   */
  async put(
    spaceId: number,
    chunkIds: readonly number[],
    signal: AbortSignal,
  ): Promise<readonly ChunkStepResult[]> {
    const { graph, source } = this.#deps;
    if (!this.isEnabled) return [];
    if (!graph.isSeparateStore)
      return chunkIds.map((chunkId) => ({ chunkId, step: 'graph', status: 'completed' }));
    const results: ChunkStepResult[] = [];
    let problem = await this.#problem(signal);
    for (const chunkId of chunkIds) {
      // A rejected chunk does not affect the next one; an unavailable graph is called once.
      if (!isUnavailable(problem)) {
        const batch = await source.chunkBatch(spaceId, chunkId);
        if (batch === null) continue;
        problem = await this.#write(() => graph.upsert(batch, signal), signal);
      }
      results.push(
        problem === null
          ? { chunkId, step: 'graph', status: 'completed' }
          : this.#failedStep(spaceId, chunkId, problem),
      );
    }
    if (results.some(({ status }) => status === 'completed'))
      await this.#dropSuperseded(spaceId, chunkIds, signal);
    return results;
  }

  /** Redraws entities that were merged, split or paired. Returns null on success, else the error message. */
  async refresh(spaceId: number, entityIds: readonly string[], signal: AbortSignal): Promise<string | null> {
    const { graph, source } = this.#deps;
    if (!graph.isSeparateStore || entityIds.length === 0) return null;
    const redraw = async () => {
      const batch = await source.entityBatch(spaceId, entityIds);
      await graph.remove(spaceId, { entityIds, eventIds: [] }, signal);
      return graph.upsert(batch, signal);
    };
    const problem = (await this.#problem(signal)) ?? (await this.#write(redraw, signal));
    if (problem === null) return null;
    for (const entityId of entityIds) this.#record(spaceId, entityId, problem, { entity_id: entityId });
    return messageOf(problem);
  }

  async remove(spaceId: number, { eventIds, entityIds }: RemovedIds): Promise<void> {
    if (eventIds.length + entityIds.length === 0) return;
    await this.#removeFromGraph(spaceId, (graph, signal) =>
      graph.remove(spaceId, { eventIds, entityIds }, signal),
    );
  }

  removeSpace(spaceId: number): Promise<void> {
    return this.#removeFromGraph(spaceId, (graph, signal) => graph.prune(spaceId, signal));
  }

  async #removeFromGraph(
    spaceId: number,
    work: (graph: Graph, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { graph } = this.#deps;
    if (!graph.isSeparateStore) return;
    const { signal } = new AbortController();
    try {
      const unavailable = await this.#problem(signal);
      if (unavailable !== null) throw unavailable;
      await work(graph, signal);
    } catch (error) {
      // The tables no longer have the rows. The caller need not retry: the ledger row triggers the repair.
      this.#record(spaceId, `space:${spaceId}`, error, {});
    }
  }

  /** Why the graph is unavailable; null when it is available. */
  async #problem(signal: AbortSignal): Promise<Error | null> {
    const state = await this.#deps.graph.availability(signal);
    return state.state === 'unavailable'
      ? new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', `${state.reason} ${state.remedy}`)
      : null;
  }

  /** The error, or null when everything was written. Throws only errors that are fatal for a job. */
  async #write(work: () => Promise<readonly GraphFailure[]>, signal: AbortSignal): Promise<Error | null> {
    try {
      const failures = await work();
      return failures.length === 0 ? null : new PartialFailure(failures);
    } catch (error) {
      if (isFatalForJob(error, signal)) throw error;
      return error instanceof Error ? error : new Error(String(error), { cause: error });
    }
  }

  #failedStep(spaceId: number, chunkId: number, problem: unknown): ChunkStepResult {
    const { cause, message, kind } = this.#record(spaceId, String(chunkId), problem, { chunk_id: chunkId });
    const status = kind === graphDegradations.skipped ? 'skipped' : 'failed';
    return { chunkId, step: 'graph', status, cause, message };
  }

  #record(
    spaceId: number,
    subject: string,
    problem: unknown,
    context: Readonly<Record<string, unknown>>,
  ): { readonly kind: string; readonly cause: string; readonly message: string } {
    const { ledger, log, graph } = this.#deps;
    const kind = isUnavailable(problem) ? graphDegradations.skipped : graphDegradations.failed;
    const cause = kindOf(problem);
    const message = isUnavailable(problem)
      ? 'The graph was unavailable, so this is not in it yet. It is added when the graph is available again.'
      : 'The graph rejected some of this. A repair tries again.';
    const failed = problem instanceof PartialFailure ? problem.summary() : {};
    const details = { space_id: spaceId, backend: graph.backend, error_type: cause, ...context, ...failed };
    log[isUnavailable(problem) ? 'warn' : 'error']('the graph is behind the tables', { ...details, subject });
    log.debug('why the graph is behind the tables', { subject, error_message: messageOf(problem) });
    void ledger.record({ kind, subject, cause, message, details });
    return { kind, cause, message };
  }

  /** Removes superseded chunks from the graph and marks their steps as skipped. */
  async #dropSuperseded(spaceId: number, chunkIds: readonly number[], signal: AbortSignal): Promise<void> {
    const { source, artifacts } = this.#deps;
    const old = await source.superseded(spaceId, chunkIds);
    if (old.chunkIds.length === 0) return;
    await this.#removeFromGraph(spaceId, (graph) =>
      graph.remove(spaceId, { entityIds: [], eventIds: old.eventIds }, signal),
    );
    await artifacts.saveSteps(
      spaceId,
      old.chunkIds.map((chunkId) => ({ chunkId, step: 'graph', status: 'skipped', cause: supersededCause })),
    );
  }
}

const isUnavailable = (problem: unknown): boolean => kindOf(problem) === 'KNOWLEDGE_GRAPH_UNAVAILABLE';

/** Some nodes or edges were not written. */
class PartialFailure extends Error {
  readonly code: string;
  readonly #failures: readonly GraphFailure[];

  constructor(failures: readonly GraphFailure[]) {
    super(`${failures.length} nodes or edges were not written.`);
    this.#failures = failures;
    this.code = failures[0]?.cause ?? 'UNKNOWN';
  }

  summary(): Readonly<Record<string, unknown>> {
    return {
      failed: this.#failures.length,
      failures: this.#failures.slice(0, 20).map(({ what, id, cause }) => `${what} ${id}: ${cause}`),
    };
  }
}

// Rebuilds the graph from the tables; the old one serves until the new one is complete.

export const graphRebuildJob: JobDefinition<Record<string, never>> = {
  name: 'knowledge.graph-rebuild',
  description: 'Rebuilds the graph from the tables; the old graph serves until the new one is complete.',
  parse: (raw) => z.strictObject({}).parse(raw),
  // An interrupted rebuild continues.
  retries: 4,
  retryDelayMs: 30_000,
  retryBackoff: true,
  retryDelayMaxMs: 600_000,
  concurrency: 1,
  timeoutMs: 6 * 3_600_000,
};

/** Only one is queued or running. */
export const graphRebuildKey = 'rebuild';

export interface GraphRebuildDeps {
  readonly graph: Graph;
  readonly source: GraphSource;
  readonly sync: GraphSync;
  readonly artifacts: Pick<ArtifactStore, 'saveSteps'>;
  readonly spaces: Pick<Spaces, 'list'>;
}

export function graphRebuildHandler(deps: GraphRebuildDeps): JobHandler<Record<string, never>> {
  const { graph, source, spaces } = deps;
  return async (_, { signal, progress }) => {
    if (graph.backend === 'off') return { skipped: 'The graph is switched off (GRAPH_BACKEND=off).' };
    if (!graph.isSeparateStore)
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
    if (built.since !== null) await catchUp(deps, built.since, signal);
    for (const { spaceId } of await spaces.list(undefined)) await graph.prune(spaceId, signal);
    return { result: { entities: built.entities, events: built.events } };
  };
}

/** Applies what changed in the old graph while the new one was built. */
async function catchUp(
  { source, sync, artifacts }: GraphRebuildDeps,
  since: Date,
  signal: AbortSignal,
): Promise<void> {
  for (const { spaceId, chunkIds, entityIds } of await source.changedSince(since)) {
    if (chunkIds.length > 0) await artifacts.saveSteps(spaceId, await sync.put(spaceId, chunkIds, signal));
    await sync.refresh(spaceId, entityIds, signal);
  }
}
