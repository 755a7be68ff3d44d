// Runs an extraction in this process: source, vault, limiter and worker threads plugged together. Needs no state store.
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import type { EventListener } from '../core/index.ts';
import { EventBus, systemClock, systemIds, systemRandom } from '../core/index.ts';
import type { Estimate, ExtractionResult, ParallelConfig, Source, SourceType } from '../extraction/index.ts';
import {
  defaultQueueSize,
  estimate,
  extractionEvents,
  pageReadings,
  PageThreads,
  runExtraction,
  selectTypes,
} from '../extraction/index.ts';
import type { Vault } from '../extraction/vault/index.ts';
import { openVault } from '../extraction/vault/index.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import { siblingModule } from '../platform/module-url.ts';
import type { AdaptiveRateLimiter } from '../resilience/index.ts';
import { createRateLimiter } from '../resilience/index.ts';
import type { SourceChoice } from './extraction-source.ts';
import { makeSource } from './extraction-source.ts';
import { vaultsFolder } from './vault.ts';

export type { SourceChoice } from './extraction-source.ts';
export type { Estimate } from '../extraction/index.ts';

export interface ExtractOptions {
  readonly signal: AbortSignal;
  /** For `${NAME}` in source files. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onEvent: EventListener;
  /** Told every secret that comes up, so that none is printed. */
  readonly onSecret: (secret: string) => void;
}

export interface Extracted extends ExtractionResult {
  /** The file. */
  readonly vault: string;
}

/** Extracts as the configuration says. Rejects with an error whose code says what could not be had. */
export async function extract(
  config: Config,
  choice: SourceChoice,
  options: ExtractOptions,
): Promise<Extracted> {
  return withSource(config, choice, options, async (source, types, opened) => {
    const { vault, limiter } = await opened();
    const { extraction } = config;
    const { workers } = extraction;
    const events = new EventBus(extractionEvents, () => systemClock.now());
    events.listen(options.onEvent);
    const entry = siblingModule('../extraction/pipeline/page-thread', import.meta.url);
    const result = await runExtraction(
      {
        types,
        parallel: parallelOf(config),
        maxCalls: extraction.maxCalls,
        retries: extraction.retries,
        retryDelayMs: extraction.retryDelayMs,
        fresh: extraction.fresh,
        retryFailed: extraction.retryFailed,
        vault: vault.path,
        settings: { ...extraction },
      },
      {
        source,
        sessions: vault.sessions,
        limiter,
        startThreads: (of, onDeath) =>
          new PageThreads(
            entry,
            { vaultPath: vault.path, turn: vault.turn, readings: pageReadings(of) },
            { count: Math.min(workers, availableParallelism()), onDeath },
          ),
        clock: systemClock,
        random: systemRandom,
        events,
      },
      options.signal,
    );
    return { ...result, vault: vault.path };
  });
}

/** What `extract` would cost from the beginning. Writes no items; its few calls keep the rate limit too. */
export async function estimateExtraction(
  config: Config,
  choice: SourceChoice,
  options: ExtractOptions,
): Promise<Estimate> {
  return withSource(config, choice, options, async (source, types) => {
    const limiter = limiterFor(config, null, source);
    return estimate(types, parallelOf(config), async (request) => {
      const permit = await limiter.acquire(options.signal);
      const page = await source.fetch(request, options.signal);
      permit.succeeded();
      return page;
    });
  });
}

interface Opened {
  readonly vault: Vault;
  readonly limiter: AdaptiveRateLimiter;
}

/**
 * Connects first: whoever cannot log in leaves no file behind. The vault is opened when it is first needed, which a
 * source that reads folders while it connects does.
 */
async function withSource<T>(
  config: Config,
  choice: SourceChoice,
  { env, onSecret, signal }: ExtractOptions,
  work: (source: Source, types: readonly SourceType[], opened: () => Promise<Opened>) => Promise<T>,
): Promise<T> {
  await using closing = new AsyncDisposableStack();
  const transport = createUndiciTransport({ connectionsPerOrigin: 64 });
  closing.defer(() => transport.close());
  let opening: Promise<Opened> | undefined;
  const opened = () => (opening ??= openFor(config, source, closing));
  const pace = async (until: AbortSignal) => {
    const { limiter } = await opened();
    (await limiter.acquire(until)).succeeded();
  };
  const source: Source = await makeSource(config, choice, { transport, env, onSecret, pace });
  closing.defer(() => source.close());
  const named = namedTypes(config);
  selectTypes(source.types, named);
  await source.connect(signal);
  return await work(source, selectTypes(source.types, named), opened);
}

/** Whoever asks for folders means what is in folders. */
function namedTypes({ extraction }: Config): readonly string[] {
  if (extraction.types.length > 0 || extraction.folders.length === 0) return extraction.types;
  return ['dashboards', 'looks'];
}

async function openFor(config: Config, source: Source, closing: AsyncDisposableStack): Promise<Opened> {
  const path = config.extraction.vault ?? defaultVault(config, source);
  await mkdir(dirname(path), { recursive: true });
  const vault = openVault(path, { source: source.name, clock: systemClock, ids: systemIds });
  closing.defer(() => vault.close());
  return { vault, limiter: limiterFor(config, vault, source) };
}

function limiterFor(config: Config, vault: Vault | null, source: Source): AdaptiveRateLimiter {
  const { rateLimitPerMinute, rateLimitPerSecond, adaptive } = config.extraction;
  return createRateLimiter({
    limits: { perMinute: rateLimitPerMinute, perSecond: rateLimitPerSecond },
    adaptive,
    clock: systemClock,
    ...(vault ? { journal: vault.grantJournal(source.limiterKey) } : {}),
  });
}

function parallelOf({ extraction }: Config): ParallelConfig {
  const { workers, queueSize, batchSize, rateLimitPerMinute, rateLimitPerSecond, adaptive } = extraction;
  return {
    workers,
    queueSize: queueSize ?? defaultQueueSize(workers),
    batchSize,
    rateLimitPerMinute,
    rateLimitPerSecond,
    adaptiveRateLimiting: adaptive,
  };
}

/** `looker-acme.looker.com.vault` */
function defaultVault({ data }: Config, { name }: Source): string {
  const file = name.replace(/https?:\/\//, '').replaceAll(/[^\w.-]+/g, '-');
  return resolve(join(vaultsFolder(data.folder), `${file}.vault`));
}
