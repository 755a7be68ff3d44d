// The pipeline without the network: pages from memory through queue and threads into a vault, also on virtual time.
import { join } from 'node:path';
import { EventBus, seededRandom, systemClock, systemIds, systemRandom } from '../src/core/index.ts';
import { VirtualClock } from '../test/support/core/virtual-clock.ts';
import type { CommittedPage, Source, ContentType, VaultSessions } from '../src/extraction/index.ts';
import type { PageProcessor } from '../src/extraction/pipeline/worker-pool.ts';
import { extractionEvents, FetchError } from '../src/extraction/index.ts';
import { WorkerPool } from '../src/extraction/pipeline/worker-pool.ts';
import { parallelConfig } from '../test/support/extraction/parallel-config.ts';
import { runExtraction } from '../src/extraction/pipeline/run-session.ts';
import { parsePage } from '../src/extraction/parsing/parse-page.ts';
import { PageWriter } from '../src/extraction/vault/page-writer.ts';
import { openVault } from '../src/extraction/vault/sessions.ts';
import { createRateLimiter } from '../test/support/resilience/memory-rate-limiter.ts';
import { offsetPage } from '../test/support/extraction/pages.ts';
import { limitedSource } from '../test/support/limited-source.ts';
import { inFolder } from './extraction-runs.ts';

/** The built files, as installed: from the sources, a thread would also load the type stripper. */
const thread = new URL('../dist/extraction/pipeline/worker.js', import.meta.url);
const type: ContentType = {
  name: 'dashboards',
  number: 1,
  endpoints: [{ name: '', pagination: 'offset' }],
  shape: {
    items: { kind: 'list', path: [] },
    id: [['id']],
    name: ['title'],
    owner: ['user_id'],
    folder: ['folder', 'id'],
    createdAt: ['created_at'],
    updatedAt: ['updated_at'],
  },
};
const perPage = 100;

/** A page of dashboards of about 10 KB each, nested like real ones. */
function pageAt(offset: number): Uint8Array {
  const items = Array.from({ length: perPage }, (_, index) => ({
    id: String(offset + index),
    title: `Dashboard ${offset + index}`,
    user_id: '7',
    folder: { id: String(index % 9), name: 'Größe' },
    created_at: '2024-01-02T03:04:05.000+00:00',
    updated_at: '2025-01-02T03:04:05.000+00:00',
    elements: Array.from({ length: 42 }, (_unused, element) => ({
      id: `${offset + index}-${element}`,
      type: 'vis',
      query: {
        model: 'sales',
        view: 'orders',
        fields: ['orders.count', 'orders.created_month'],
        limit: '500',
      },
      result_maker: { dynamic_fields: null, sorts: ['orders.created_month desc'], total: false },
    })),
  }));
  return new Uint8Array(Buffer.from(JSON.stringify(items)));
}

/** Items per second: only writing prepared rows, and the whole pipeline over the same pages. Best of three each. */
export async function writingAgainstPipeline(count: number): Promise<{ bare: number; pipeline: number }> {
  const pages = Array.from({ length: count / perPage }, (_, index) => pageAt(index * perPage));
  let [bare, pipeline] = [0, 0];
  for (let round = 0; round < 3; round++) {
    bare = Math.max(bare, await inFolder((folder) => Promise.resolve(writeOnly(folder, pages))));
    pipeline = Math.max(pipeline, await inFolder((folder) => pipelineOver(folder, pages)));
  }
  return { bare, pipeline };
}

function writeOnly(folder: string, pages: readonly Uint8Array[]): number {
  const parsed = pages.map((bytes, index) => {
    const offset = index * perPage;
    return parsePage(offsetPage(type.name, offset, perPage), bytes, [type]);
  });
  const path = join(folder, 'bare.vault');
  const vault = openVault(path, { source: 'bench', clock: systemClock, ids: systemIds });
  const session = vault.sessions.open({
    source: 'bench',
    types: [type],
    workerCount: 1,
    config: {},
    fresh: false,
    retryFailed: false,
  });
  const writer = new PageWriter(path, { clock: systemClock, writeLock: vault.writeLock });
  const startedAt = performance.now();
  for (const page of parsed) writer.write(session.id, page, { total: null, nextLink: null });
  const seconds = (performance.now() - startedAt) / 1000;
  writer.close();
  vault.close();
  return (pages.length * perPage) / seconds;
}

async function pipelineOver(folder: string, pages: readonly Uint8Array[]): Promise<number> {
  const path = join(folder, 'bench.vault');
  const vault = openVault(path, { source: 'bench', clock: systemClock, ids: systemIds });
  const settings = { vaultPath: path, writeLock: vault.writeLock, types: [type] };
  const threads = new WorkerPool(thread, settings, { count: 2, onDeath: () => undefined });
  await threads.ready();
  const source: Source = {
    name: 'bench',
    types: [type],
    connect: () => Promise.resolve(),
    close: () => Promise.resolve(),
    fetch: (request) => {
      const { position } = request;
      const offset = position.kind === 'offset' ? position.offset : 0;
      const bytes = pages[offset / perPage] ?? new Uint8Array();
      return Promise.resolve({ request, bytes, total: pages.length * perPage, nextLink: null });
    },
  };
  const result = await runExtraction(
    {
      types: [type],
      parallel: parallelConfig({ workers: 2, rateLimitPerMinute: 1_000_000, rateLimitPerSecond: 1_000_000 }),
      maxCalls: null,
      retries: 0,
      retryDelayMs: 1,
      fresh: false,
      retryFailed: false,
      vault: path,
      settings: {},
    },
    {
      source,
      sessions: vault.sessions,
      limiter: createRateLimiter({ limits: { perSecond: 1_000_000 }, clock: systemClock }),
      startThreads: () => threads,
      clock: systemClock,
      random: systemRandom,
      events: new EventBus(extractionEvents),
    },
    new AbortController().signal,
  );
  vault.close();
  return result.itemsPerSecond ?? 0;
}

/** With a configured limit of twice the real one, for 30 simulated minutes: the share of calls rejected with 429 after the first. */
export async function overstatedLimit(): Promise<{ refusedShare: number; used: number }> {
  const clock = new VirtualClock();
  const allowed = 100;
  const arrivals: number[] = [];
  const calls: { at: number; isRefused: boolean }[] = [];
  const source: Source = {
    name: 'bench',
    types: [type],
    connect: () => Promise.resolve(),
    close: () => Promise.resolve(),
    fetch: async (request) => {
      await clock.sleep(40);
      const at = clock.monotonic();
      const isRefused = (arrivals.at(-allowed) ?? Number.NEGATIVE_INFINITY) > at - 60_000;
      calls.push({ at, isRefused });
      if (isRefused)
        throw new FetchError({ kind: 'rate-limit', isTransient: true, status: 429, hint: undefined }, '429');
      arrivals.push(at);
      return { request, bytes: new Uint8Array(1), total: null, nextLink: null };
    },
  };
  const limiter = createRateLimiter({ limits: { perSecond: 10, perMinute: allowed * 2 }, clock });
  const stop = new AbortController();
  const minutes = 30;
  clock.after(minutes * 60_000, () => stop.abort());
  await clock.run(
    runExtraction(
      {
        types: [type],
        parallel: parallelConfig({ workers: 4, rateLimitPerMinute: allowed * 2 }),
        maxCalls: null,
        retries: 4,
        retryDelayMs: 1_000,
        fresh: false,
        retryFailed: false,
        vault: '',
        settings: {},
      },
      {
        source: limitedSource(source, limiter),
        sessions: noSessions,
        limiter,
        startThreads: () => endless,
        clock,
        random: seededRandom(1),
        events: new EventBus(extractionEvents),
      },
      stop.signal,
    ),
  );
  const later = calls.filter(({ at }) => at > 60_000);
  const refused = later.filter(({ isRefused }) => isRefused).length;
  return { refusedShare: refused / later.length, used: (later.length - refused) / (allowed * (minutes - 1)) };
}

const noTotals = { items: 0, calls: 0, errors: 0, activeMs: 0, throughputItemsPerSecond: null };

const noSessions: VaultSessions = {
  open: ({ types }) => ({
    id: 'bench',
    isResumed: false,
    isComplete: false,
    lost: [],
    changedTypes: [],
    progress: types.map(({ name }) => ({
      type: name,
      state: 'queued',
      itemsSeen: 0,
      done: [],
      failed: [],
    })),
    totals: noTotals,
  }),
  fail: () => undefined,
  finishType: () => 'completed',
  finish: () => noTotals,
  countItems: () => 0,
};

/** Always a full page, with more to follow. */
const endless: PageProcessor = {
  size: 1,
  capacity: 1,
  alive: 1,
  ready: () => Promise.resolve(),
  process: (_session, { request }) => {
    const page: CommittedPage = {
      request,
      itemCount: perPage,
      rejectedCount: 0,
      written: { added: perPage, changed: 0, unchanged: 0, repeated: 0 },
      total: 100_000_000,
      next: null,
      children: [],
      elements: [],
    };
    return Promise.resolve({ kind: 'committed', page });
  },
  close: () => Promise.resolve(),
  terminate: () => Promise.resolve(),
};
