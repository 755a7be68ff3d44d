// Knowledge on a real database, with components that fail or hang on demand, a ledger and its repairs.
import type { JobContext, JobQueue, Log, LogLevel } from '../../src/core/index.ts';
import { EventBus, Redactor, seededRandom } from '../../src/core/index.ts';
import { EntityStore } from '../../src/knowledge/entities/entity-store.ts';
import { SqlGraph } from '../../src/knowledge/graph/sql-graph.ts';
import type { GraphWriter } from '../../src/knowledge/graph/write-batch.ts';
import { writeBatch } from '../../src/knowledge/graph/write-batch.ts';
import type {
  Graph,
  GraphAvailability,
  GraphBatch,
  SearchRequest,
  Space,
} from '../../src/knowledge/index.ts';
import type { Embedder } from '../../src/knowledge/vectors/embedders.ts';
import type { KnowledgeOptions } from '../../src/knowledge/options.ts';
import type { LanguageModel } from '../../src/knowledge/models/structured-output.ts';
import type { Readers } from '../../src/knowledge/reading/rules-reader.ts';
import { KnowledgeError, openKnowledge, searchDefaults } from '../../src/knowledge/index.ts';
import type { IngestJobPayload } from '../../src/knowledge/ingest/ingest-job.ts';
import { ingestJobName } from '../../src/knowledge/ingest/ingest-job.ts';
import { SearchStore } from '../../src/knowledge/search/results.ts';
import type { LedgerEntry } from '../../src/ledger/index.ts';
import { RepairRegistry, RepairRunner, ledgerEvents } from '../../src/ledger/index.ts';
import { bracketReader } from './knowledge-doubles.ts';
import { MemoryLedgerStore } from './ledger/memory-ledger-store.ts';
import type { KnowledgeWorld } from './knowledge-world.ts';
import { embeddersOf, wordEmbedder } from './knowledge-world.ts';

/** `hang`: until the timeout of the component. */
export type Fault = 'none' | 'fail' | 'hang';

export interface Faults {
  embedding: Fault | 'not-configured';
  candidates: Fault;
  /** The response, or the fault. */
  model: Fault | 'not-configured' | { readonly answer: string };
  reader: Fault | 'not-configured';
  graph: 'available' | 'unavailable' | 'off';
  /** Faults by name of the entity. */
  badNodes: Readonly<Record<string, 'fail' | 'hang'>>;
  badEdges: Fault;
  expansion: Fault;
  /** Faults when the events of a chunk are loaded, by chunk id. */
  lookup: Readonly<Record<number, 'fail' | 'hang'>>;
}

const { signal } = new AbortController();
const context: JobContext = { id: 'job', attempt: 1, signal, progress: () => undefined };

export type FaultyKnowledge = Awaited<ReturnType<typeof openFaultyKnowledge>>;

/** The clock advances only while a component hangs; raise the timeouts of components that run meanwhile. */
export async function openFaultyKnowledge(
  world: KnowledgeWorld,
  change: Partial<KnowledgeOptions> = {},
  graphAtStart: Faults['graph'] = 'available',
) {
  const { database, clock, ids, artifacts } = world;
  const options = { ...world.options, ...change };
  const faults: Faults = {
    embedding: 'not-configured',
    candidates: 'none',
    model: 'not-configured',
    reader: 'not-configured',
    graph: graphAtStart,
    badNodes: {},
    badEdges: 'none',
    expansion: 'none',
    lookup: {},
  };
  /** Duration of each hanging call. */
  const waitedMs: number[] = [];
  let behind = 0;
  let modelCalls = 0;
  const enqueued: IngestJobPayload[] = [];
  const logged: { readonly level: LogLevel; readonly text: string }[] = [];

  async function hang(callSignal: AbortSignal): Promise<never> {
    const from = clock.monotonic();
    callSignal.addEventListener('abort', () => waitedMs.push(clock.monotonic() - from));
    while (!callSignal.aborted) await clock.advance(100);
    throw callSignal.reason;
  }
  async function applyFault(fault: unknown, callSignal: AbortSignal): Promise<void> {
    if (fault === 'hang') await hang(callSignal);
    if (fault === 'fail') throw new TypeError('It broke.');
  }

  const line = (level: LogLevel) => (message: string, fields?: object) =>
    void logged.push({ level, text: `${message} ${JSON.stringify(fields ?? {})}` });
  const log: Log = {
    level: 'debug',
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    with: () => log,
  };
  const store = new MemoryLedgerStore(ids);
  const ledger: KnowledgeWorld['ledger'] = {
    record: ({ details = {}, ...row }) => {
      const at = new Date(clock.now());
      return store.record([{ ...row, details, count: 1, firstSeenAt: at, lastSeenAt: at }]);
    },
  };

  const embedder: Embedder = {
    ...wordEmbedder(),
    embed: async (texts, callSignal) => {
      await applyFault(faults.embedding, callSignal);
      return wordEmbedder().embed(texts, callSignal);
    },
  };
  const embedders = {
    current: () => embeddersOf(faults.embedding === 'not-configured' ? null : embedder).current(),
  };
  const model: LanguageModel = {
    isConfigured: () => faults.model !== 'not-configured',
    complete: async (request) => {
      modelCalls++;
      await applyFault(faults.model, request.signal);
      const same =
        '{"decision": "same", "candidate": 1, "canonical_name": "Alice Chen", "reason": "same name"}';
      return { text: typeof faults.model === 'object' ? faults.model.answer : same, model: 'scripted' };
    },
  };
  const readers: Readers = {
    rules: bracketReader('rules'),
    model: () =>
      faults.reader === 'not-configured'
        ? null
        : {
            method: 'model',
            read: async (task, callSignal) => {
              await applyFault(faults.reader, callSignal);
              return bracketReader('model').read(task, callSignal);
            },
          },
  };
  class FaultyEntities extends EntityStore {
    override async candidates(...query: Parameters<EntityStore['candidates']>) {
      await applyFault(faults.candidates, query[3]);
      return super.candidates(...query);
    }
  }
  class FaultyLookup extends SearchStore {
    override async eventIdsOf(...query: Parameters<SearchStore['eventIdsOf']>) {
      await applyFault(faults.lookup[query[1]], query[2]);
      return super.eventIdsOf(...query);
    }
  }
  const graph = new FaultyGraph(world, faults, applyFault);
  const knowledge = await openKnowledge({
    database,
    clock,
    ids,
    log,
    ledger,
    options,
    model,
    jobs: {
      define: (definitions) => world.jobs.define(definitions),
      get: (id) => world.jobs.get(id),
      enqueue: async (job, payload, given) => {
        if (job.name !== ingestJobName) return world.jobs.enqueue(job, payload, given);
        enqueued.push(payload as IngestJobPayload);
        return ids.uuid();
      },
    } as Pick<JobQueue, 'define' | 'get' | 'enqueue'> as JobQueue,
    overrides: {
      embedders,
      readers,
      graph,
      entities: new FaultyEntities(database),
      searchStore: new FaultyLookup(database),
      onGraphBehind: () => void behind++,
    },
  });
  const registry = new RepairRegistry();
  for (const repair of knowledge.repairs) registry.register(repair);
  const runner = new RepairRunner({
    store,
    registry,
    clock,
    random: seededRandom(5),
    redactor: new Redactor(),
    events: new EventBus(ledgerEvents),
    options: {
      repairBatch: 100,
      repairConcurrency: 1,
      repairTimeoutMs: 600_000,
      repairBackoffMs: 1_000,
      repairBackoffMaxMs: 60_000,
    },
  });

  return {
    faults,
    waitedMs,
    logged,
    graph,
    graphSync: knowledge.graphSync,
    entities: knowledge.entities,
    /** Runs the backfill and the ingest jobs that it enqueues. */
    async backfill() {
      const outcome = await knowledge.handleBackfill({}, context);
      for (const payload of enqueued.splice(0)) await knowledge.handleIngest(payload, context);
      return outcome;
    },
    /** Open rows, as `kind cause`. */
    rows: async () => (await store.list({})).map(({ kind, cause }) => `${kind} ${cause}`).sort(),
    entries: (): Promise<readonly LedgerEntry[]> => store.list({}),
    repair: () => runner.run(),
    /** Stores these chunks and processes them as the job does. */
    async ingest(space: Space, chunks: readonly string[], sourceId?: string) {
      const text = chunks.join('\n');
      const accepted = await world.accept(
        space,
        sourceId === undefined ? { text } : { text, sourceId },
        chunks,
      );
      await knowledge.handleIngest({ spaceId: space.spaceId, revisionId: accepted.revisionId }, context);
      return accepted;
    },
    /** `read completed`, `graph skipped`, … of a revision's chunks in order. */
    async steps(revisionId: string) {
      return (await artifacts.steps(revisionId))
        .filter(({ step }) => step !== 'index')
        .map(({ step, status, method }) =>
          [step, status, method].filter((part) => part !== undefined).join(' '),
        )
        .sort();
    },
    modelCalls: () => modelCalls,
    /** Searches that found the graph behind the tables. */
    behind: () => behind,
    search: (space: Space, request: Partial<SearchRequest>) =>
      knowledge.search.search(
        space,
        { ...searchDefaults, query: 'decided', graphExpand: true, ...request },
        signal,
      ),
  };
}

/** Stores names only and expands from the tables. */
class FaultyGraph implements Graph {
  readonly isSeparateStore = true;
  readonly entities = new Map<string, string>();
  readonly edges = new Set<string>();
  readonly events = new Set<string>();
  readonly #world: KnowledgeWorld;
  readonly #faults: Faults;
  readonly #applyFault: (fault: unknown, callSignal: AbortSignal) => Promise<void>;

  constructor(
    world: KnowledgeWorld,
    faults: Faults,
    applyFault: (fault: unknown, callSignal: AbortSignal) => Promise<void>,
  ) {
    this.#world = world;
    this.#faults = faults;
    this.#applyFault = applyFault;
  }

  get backend(): 'age' | 'off' {
    return this.#faults.graph === 'off' ? 'off' : 'age';
  }

  async availability(): Promise<GraphAvailability> {
    if (this.#faults.graph === 'off') return { state: 'off' };
    return this.#faults.graph === 'available'
      ? { state: 'available' }
      : { state: 'unavailable', reason: 'AGE extension not loaded.', remedy: 'Load it.' };
  }

  async missing(_spaceId: number, eventIds: readonly string[]): Promise<number> {
    if (this.#faults.graph === 'unavailable') throw new TypeError('It is unavailable.');
    return eventIds.filter((id) => !this.events.has(id)).length;
  }

  async isEmpty(): Promise<boolean> {
    return this.entities.size === 0;
  }

  upsert(part: GraphBatch, callSignal: AbortSignal) {
    const { clock, options } = this.#world;
    return writeBatch(this.#write, part, { clock, timeoutMs: options.graphUpsertTimeoutMs }, callSignal);
  }

  readonly #write: GraphWriter = async (_what, _spaceId, items, callSignal) => {
    for (const item of items) {
      if ('name' in item) await this.#applyFault(this.#faults.badNodes[item.name], callSignal);
      else if ('role' in item) await this.#applyFault(this.#faults.badEdges, callSignal);
    }
    for (const item of items) {
      if ('name' in item) this.entities.set(item.entityId, item.name);
      else if ('narrative' in item) this.events.add(item.eventId);
      else this.edges.add(JSON.stringify(item));
    }
    return [];
  };

  async remove(_spaceId: number, { entityIds }: { readonly entityIds: readonly string[] }): Promise<void> {
    for (const id of entityIds) this.entities.delete(id);
  }

  async prune(): Promise<void> {
    this.entities.clear();
  }

  async expand(...[request, callSignal]: Parameters<Graph['expand']>) {
    await this.#applyFault(this.#faults.expansion, callSignal);
    const state = await this.availability();
    if (state.state === 'unavailable') throw new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', state.reason);
    return new SqlGraph(this.#world.database).expand(request, callSignal);
  }

  rebuild(): Promise<never> {
    return Promise.reject(new Error('No test rebuilds it.'));
  }
}
