// Runs an extraction in this process: source, vault, limiter and worker threads plugged together. Needs no state store.
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../config/index.ts';
import { secretsOf } from '../config/index.ts';
import type { EventListener } from '../core/index.ts';
import { EventBus, messageOf, Redactor, systemClock, systemIds, systemRandom } from '../core/index.ts';
import type {
  Estimate,
  ExtractionResult,
  PageRequest,
  ParallelConfig,
  SessionSpec,
  Source,
  ContentType,
} from '../extraction/index.ts';
import {
  defaultQueueSize,
  estimate,
  extractionEvents,
  pageFormats,
  WorkerPool,
  runExtraction,
  openSourceLimiter,
  selectTypes,
  emitRestartReason,
  waitForVaultLock,
} from '../extraction/index.ts';
import { redactedSource } from '../extraction/sources/redacted-source.ts';
import type { Vault } from '../extraction/vault/index.ts';
import { openVault, readResumable } from '../extraction/vault/index.ts';
import { makeFolder, vaultsFolder } from '../platform/data-folder/files.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import { threadModule } from '../platform/threads/thread-module.ts';
import type { AdaptiveRateLimiter } from '../resilience/index.ts';
import type { SourceChoice } from './extraction-source.ts';
import { makeSource } from './extraction-source.ts';
import { WaitReporter } from './extraction-waits.ts';

export type { SourceChoice } from './extraction-source.ts';
export type { Estimate } from '../extraction/index.ts';

export interface ExtractOptions {
  readonly signal: AbortSignal;
  /** Instead of the setting. */
  readonly fresh?: SessionSpec['fresh'];
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
  return withSource(config, choice, options, async ({ source, types, limiter, events, waits, closing }) => {
    const vault = await openFor(config, source, closing, options.signal);
    if (vault.wasOlder) events.emit('extraction:vault-updated', { vault: vault.path });
    waits.end();
    const { extraction } = config;
    const { workers } = extraction;
    const entry = threadModule('../extraction/pipeline/worker', import.meta.url);
    const result = await runExtraction(
      {
        types,
        parallel: parallelOf(config),
        maxCalls: extraction.maxCalls,
        retries: extraction.retries,
        retryDelayMs: extraction.retryDelayMs,
        fresh: options.fresh ?? extraction.fresh,
        retryFailed: extraction.retryFailed,
        vault: vault.path,
        settings: { ...extraction },
      },
      {
        source,
        sessions: vault.sessions,
        limiter,
        startThreads: (of, onDeath) =>
          new WorkerPool(
            entry,
            {
              vaultPath: vault.path,
              turn: vault.turn,
              formats: pageFormats(of),
              secrets: source.secrets ?? [],
            },
            { count: Math.min(workers, availableParallelism()), onDeath },
          ),
        clock: systemClock,
        random: systemRandom,
        events,
      },
      options.signal,
    );
    if (result.status === 'completed' && !result.wasComplete)
      await pruneOld(config, vault, events, options.signal);
    return { ...result, vault: vault.path };
  });
}

/** What is complete stays so: that old versions are still there is no failure of the extraction. */
async function pruneOld(
  { retention }: Config,
  vault: Vault,
  events: EventBus<typeof extractionEvents>,
  signal: AbortSignal,
): Promise<void> {
  const { vaultVersionsDays: olderThanDays, vaultVersionsKeep: keep } = retention;
  if (olderThanDays === 0) return;
  try {
    const { versions, bytes } = await vault.prune({ olderThanDays, keep }, signal);
    if (versions > 0) events.emit('extraction:versions-pruned', { vault: vault.path, versions, bytes });
  } catch (error) {
    events.emit('extraction:prune-failed', { vault: vault.path, error: messageOf(error) });
  }
}

/** What `extract` would cost, with what the vault has. Makes and changes no vault; its few calls keep the rate limit too. */
export async function estimateExtraction(
  config: Config,
  choice: SourceChoice,
  options: ExtractOptions,
): Promise<Estimate> {
  const { fresh, retryFailed, maxCalls } = config.extraction;
  return withSource(config, choice, options, ({ source, types, events }) => {
    const spec = { source: source.name, types, workerCount: null, config: {}, fresh, retryFailed };
    const vault = vaultFor(config, source);
    const { progress, redefined } = readResumable(vault, spec);
    emitRestartReason(events, vault, spec, { isResumed: progress.length > 0, lost: [], redefined });
    const ask = (request: PageRequest) => source.fetch(request, options.signal);
    return estimate(types, parallelOf(config), ask, { progress, maxCalls });
  });
}

interface Connected {
  readonly source: Source;
  readonly types: readonly ContentType[];
  /** The one that the source asks for leave. */
  readonly limiter: AdaptiveRateLimiter;
  readonly events: EventBus<typeof extractionEvents>;
  readonly waits: WaitReporter;
  readonly closing: AsyncDisposableStack;
}

/** Connects first: whoever cannot log in permits no vault behind. */
async function withSource<T>(
  config: Config,
  choice: SourceChoice,
  { env, onSecret, onEvent, signal }: ExtractOptions,
  work: (connected: Connected) => Promise<T>,
): Promise<T> {
  await using closing = new AsyncDisposableStack();
  const transport = createUndiciTransport({ connectionsPerOrigin: 64 });
  closing.defer(() => transport.close());
  const events = new EventBus(extractionEvents, () => systemClock.now());
  events.listen(onEvent);
  // The limiter is the source's, and the source asks it: one of the two must come first.
  const { promise: limited, resolve: provide } = Promise.withResolvers<AdaptiveRateLimiter>();
  const waits = new WaitReporter(events, systemClock);
  const acquirePermit = async (until: AbortSignal) => {
    const limiter = await limited;
    return waits.whileAcquiring(limiter, () => limiter.acquire(until, { reportsSending: true }));
  };
  const redactor = new Redactor();
  const keep = (secret: string) => {
    redactor.add(secret);
    onSecret(secret);
  };
  for (const secret of secretsOf(config)) keep(secret);
  const onIgnored = (setting: string, reason: string) =>
    events.emit('extraction:setting-ignored', { setting, reason });
  const made = await makeSource(config, choice, { transport, env, onSecret: keep, acquirePermit, onIgnored });
  const source = redactedSource(made, (text) => redactor.text(text));
  closing.defer(() => source.close());
  const named = namedTypes(config);
  selectTypes(source.types, named);
  const { rateLimitPerMinute, rateLimitPerSecond, adaptive } = config.extraction;
  const limiter = await openSourceLimiter({
    key: source.limiterKey,
    limits: { perMinute: rateLimitPerMinute, perSecond: rateLimitPerSecond },
    isAdaptive: adaptive,
    dataFolder: config.data.folder,
    redis: config.redis,
    clock: systemClock,
    closing,
    signal,
    onLocked: (why) => waits.tell('limits-held', why),
    onSharingChange: (cause) => tellSharing(events, cause),
  });
  provide(limiter);
  await source.connect(signal, (why, waitMs) => waits.tell('source-busy', why, waitMs));
  return await work({ source, types: selectTypes(source.types, named), limiter, events, waits, closing });
}

function tellSharing(events: EventBus<typeof extractionEvents>, cause: unknown): void {
  if (cause === undefined) events.emit('extraction:limits-shared', {});
  else events.emit('extraction:limits-unshared', { error: messageOf(cause) });
}

/** Whoever asks for folders means what is in folders. */
function namedTypes({ extraction }: Config): readonly string[] {
  if (extraction.types.length > 0 || extraction.folders.length === 0) return extraction.types;
  return ['dashboards', 'looks'];
}

async function openFor(
  config: Config,
  source: Source,
  closing: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Vault> {
  const path = vaultFor(config, source);
  await makeFolder(dirname(path), {
    what: 'The folder of the vault',
    another: 'name another file with --vault',
  });
  const open = () => openVault(path, { source: source.name, clock: systemClock, ids: systemIds });
  const vault = await waitForVaultLock(open, { clock: systemClock, signal });
  closing.defer(() => vault.close());
  return vault;
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

/** The file that was named, or one like `looker-acme.looker.com.vault`. */
function vaultFor({ data, extraction }: Config, { name }: Source): string {
  if (extraction.vault !== null) return extraction.vault;
  const file = name.replace(/https?:\/\//, '').replaceAll(/[^\w.-]+/g, '-');
  return resolve(join(vaultsFolder(data.folder), `${file}.vault`));
}
