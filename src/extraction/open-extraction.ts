// All wiring of extraction: one extraction in this process, and the registered sources and runs of a server.
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Emitter, EmittedEvent, EventListener, JobQueue, Log } from '../core/index.ts';
import {
  CoreError,
  EventBus,
  every,
  kindOf,
  messageOf,
  Redactor,
  systemClock,
  systemIds,
  systemRandom,
} from '../core/index.ts';
import { checkDataFolder, makeFolder, vaultsFolder } from '../platform/data-folder/files.ts';
import { createUndiciTransport } from '../platform/http-client/undici-transport.ts';
import type { Database } from '../platform/postgres/index.ts';
import { threadModule } from '../platform/threads/thread-pool.ts';
import type { AdaptiveRateLimiter } from '../resilience/index.ts';
import type { ExtractionEvents, RunEvents } from './events.ts';
import { extractionEvents } from './events.ts';
import type { ParallelConfig } from './parallel-config.ts';
import { defaultQueueSize } from './parallel-config.ts';
import type { Estimate } from './pipeline/estimate.ts';
import { estimate } from './pipeline/estimate.ts';
import { Planner } from './pipeline/planner.ts';
import { retryPolicy } from './pipeline/retry-policy.ts';
import type { ExtractionResult } from './pipeline/run-session.ts';
import { emitRestartReason, runExtraction, selectTypes } from './pipeline/run-session.ts';
import { WorkerPool } from './pipeline/worker-pool.ts';
import type { RedisOptions } from './rate-limiter.ts';
import { openSourceLimiter, WaitReporter } from './rate-limiter.ts';
import type { ExtractSource } from './runs/run-job.ts';
import { extractionRunHandler, extractionRunJob } from './runs/run-job.ts';
import { RunService } from './runs/run-service.ts';
import type { ExtractionSource } from './vocabulary.ts';
import { effectiveOptions } from './vocabulary.ts';
import { readSourcesFile, sourceProblems, SourceService } from './runs/source-service.ts';
import { PostgresRunStore, PostgresSourceStore } from './runs/stores.ts';
import type { ExtractionOptionValues, LookerOptionValues, SourceChoice } from './sources/resolve-source.ts';
import { resolveSource } from './sources/resolve-source.ts';
import { createHttpSource } from './sources/http-source.ts';
import type { ContentType, PageRequest, SessionSpec, Source } from './types.ts';
import { waitForVaultLock } from './vault/file.ts';
import { readResumable } from './vault/session-state.ts';
import type { VaultService } from './vault/vault-service.ts';
import { openVaultService } from './vault/vault-service.ts';
import { firstByteTimeoutMs } from './options.ts';
import type { Vault } from './vault/sessions.ts';
import { isOlderVault, openVault } from './vault/sessions.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of an extraction; the server's configuration has this form. */
export interface ExtractionSettings {
  readonly extraction: ExtractionOptionValues;
  readonly looker: LookerOptionValues;
  readonly data: { readonly folder: string };
  readonly redis: RedisOptions;
  readonly retention: { readonly vaultVersionsDays: number; readonly vaultVersionsKeep: number };
}

export interface ExtractOptions {
  readonly signal: AbortSignal;
  /** Overrides the setting. */
  readonly fresh?: SessionSpec['fresh'];
  /** For `${NAME}` in source files. */
  readonly env: Environment;
  /** Secrets of the settings, to be redacted. */
  readonly secrets: readonly string[];
  readonly onEvent: EventListener;
  /** Called with every secret that is used, so that none is printed. */
  readonly onSecret: (secret: string) => void;
}

export interface ExtractionSummary extends ExtractionResult {
  /** The path of the vault. */
  readonly vault: string;
}

/**
 * Extracts a source into its vault. Fails with an error whose code names what is not available.
 *
 * @example
 * const summary = await extract(settings, { kind: 'rest', file: 'tickets.yaml' }, options);
 */
export async function extract(
  settings: ExtractionSettings,
  choice: SourceChoice,
  options: ExtractOptions,
): Promise<ExtractionSummary> {
  return withSource(settings, choice, options, async ({ source, types, limiter, events, waits, closing }) => {
    const vault = await openVaultFor(settings, source, closing, options.signal);
    if (vault.wasOlder) events.emit('extraction:vault-migrated', { vault: vault.path });
    waits.end();
    const { extraction } = settings;
    const entry = threadModule('./pipeline/worker', import.meta.url);
    const result = await runExtraction(
      {
        types,
        parallel: parallelConfigOf(extraction),
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
        startThreads: (ofRun, onDeath) =>
          new WorkerPool(
            entry,
            {
              vaultPath: vault.path,
              writeLock: vault.writeLock,
              types: ofRun,
              secrets: source.secrets ?? [],
            },
            { count: Math.min(extraction.workers, availableParallelism()), onDeath },
          ),
        clock: systemClock,
        random: systemRandom,
        events,
      },
      options.signal,
    );
    if (result.state === 'completed' && !result.wasComplete)
      await pruneVersions(settings, vault, events, options.signal);
    return { ...result, vault: vault.path };
  });
}

/** A failure to prune is reported, and does not fail the extraction. */
async function pruneVersions(
  { retention }: ExtractionSettings,
  vault: Vault,
  events: Emitter<ExtractionEvents>,
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

/** The cost of `extract` given the existing vault, which is not changed. Its few calls obey the rate limit too. */
export async function estimateExtraction(
  settings: ExtractionSettings,
  choice: SourceChoice,
  options: ExtractOptions,
): Promise<Estimate> {
  const { fresh, retryFailed, maxCalls, retries, retryDelayMs } = settings.extraction;
  return withSource(settings, choice, options, async ({ source, types, events, limiter }) => {
    const spec = { source: source.name, types, workerCount: null, config: {}, fresh, retryFailed };
    const vault = vaultPathFor(settings, source);
    const { progress, changedTypes } = readResumable(vault, spec);
    emitRestartReason(events, vault, spec, { isResumed: progress.length > 0, lost: [], changedTypes });
    const fetch = (request: PageRequest) => source.fetch(request, options.signal);
    const parallel = parallelConfigOf(settings.extraction);
    const snapshot = await limiter.refresh();
    const {
      permitted_per_minute: perMinute,
      permitted_per_second: perSecond,
      paused_until: until,
    } = snapshot;
    return estimate(types, parallel, fetch, {
      progress,
      maxCalls,
      rate: {
        perMinute: perMinute ?? parallel.rateLimitPerMinute,
        perSecond: perSecond ?? parallel.rateLimitPerSecond,
        pauseMs: until === null ? 0 : Math.max(0, Date.parse(until) - systemClock.now()),
      },
      retries: {
        policy: retryPolicy(retries, retryDelayMs),
        clock: systemClock,
        random: systemRandom,
        signal: options.signal,
      },
    });
  });
}

interface ConnectedSource {
  readonly source: Source;
  readonly types: readonly ContentType[];
  readonly limiter: AdaptiveRateLimiter;
  readonly events: EventBus<ExtractionEvents>;
  readonly waits: WaitReporter;
  readonly closing: AsyncDisposableStack;
}

/** Checks an existing vault, then connects, before a vault is created: a failed login leaves no file behind. */
async function withSource<T>(
  settings: ExtractionSettings,
  choice: SourceChoice,
  { env, secrets, onSecret, onEvent, signal, fresh = settings.extraction.fresh }: ExtractOptions,
  work: (connected: ConnectedSource) => Promise<T>,
): Promise<T> {
  const { extraction, looker } = settings;
  await using closing = new AsyncDisposableStack();
  const events = new EventBus(extractionEvents);
  events.listen(onEvent);
  const waits = new WaitReporter(events, systemClock);
  const redactor = new Redactor();
  const addSecret = (secret: string) => {
    redactor.add(secret);
    onSecret(secret);
  };
  for (const secret of secrets) addSecret(secret);
  const onIgnored = (setting: string, reason: string) =>
    events.emit('extraction:setting-ignored', { setting, reason });
  await checkDataFolder(settings.data.folder);
  const description = await resolveSource(choice, { extraction, looker, env, onIgnored });
  for (const { value } of description.secrets) addSecret(value);
  // Fails for a vault that cannot be used, before the source is contacted.
  isOlderVault(vaultPathFor(settings, description), description.name);
  const selected = selectedTypes(extraction);
  const limiter = await openSourceLimiter({
    key: description.limiterKey,
    limits: { perMinute: extraction.rateLimitPerMinute, perSecond: extraction.rateLimitPerSecond },
    isAdaptive: extraction.adaptive,
    isReset: extraction.resetBackoff,
    dataFolder: settings.data.folder,
    redis: settings.redis,
    clock: systemClock,
    closing,
    signal,
    onLocked: (reason) => waits.report('limits-locked', reason),
    onSharingChange: (error) => {
      if (error === undefined) events.emit('extraction:limits-shared', {});
      else events.emit('extraction:limits-unshared', { error: messageOf(error) });
    },
  });
  const transport = createUndiciTransport({ connectionsPerOrigin: 64 });
  closing.defer(() => transport.close());
  const source = createHttpSource(description, {
    transport,
    clock: systemClock,
    limits: {
      firstByteMs: firstByteTimeoutMs(extraction, choice.kind === 'looker' ? looker.timeoutSeconds : null),
    },
    onSecret: addSecret,
    redact: (text) => redactor.text(text),
    acquirePermit: (until) =>
      waits.whileAcquiring(limiter, () => limiter.acquire(until, { reportsSending: true })),
  });
  closing.defer(() => source.close());
  const first = nextPage(settings, source, selectTypes(source.types, selected), fresh);
  await source.connect(signal, (reason, waitMs) => waits.report('source-busy', reason, waitMs), first);
  return await work({ source, types: selectTypes(source.types, selected), limiter, events, waits, closing });
}

/** The page that a run requests first; undefined when the vault has everything. */
function nextPage(
  settings: ExtractionSettings,
  source: Source,
  types: readonly ContentType[],
  fresh: SessionSpec['fresh'],
): PageRequest | undefined {
  const { retryFailed, batchSize } = settings.extraction;
  const spec = { source: source.name, types, workerCount: null, config: {}, fresh, retryFailed };
  const { progress } = readResumable(vaultPathFor(settings, source), spec);
  return new Planner(types, progress, batchSize).next() ?? undefined;
}

/** Folders without types select the types that have folders. */
function selectedTypes({ types, folders }: ExtractionOptionValues): readonly string[] {
  return types.length > 0 || folders.length === 0 ? types : ['dashboards', 'looks'];
}

async function openVaultFor(
  settings: ExtractionSettings,
  source: Source,
  closing: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Vault> {
  const path = vaultPathFor(settings, source);
  await makeFolder(dirname(path), {
    what: 'The folder of the vault',
    another: 'choose another path (--vault)',
  });
  const open = () => openVault(path, { source: source.name, clock: systemClock, ids: systemIds });
  const vault = await waitForVaultLock(open, { clock: systemClock, signal });
  closing.defer(() => vault.close());
  return vault;
}

const parallelConfigOf = ({ queueSize, adaptive, ...values }: ExtractionOptionValues): ParallelConfig => ({
  ...values,
  queueSize: queueSize ?? defaultQueueSize(values.workers),
  adaptiveRateLimiting: adaptive,
});

/** The configured file, or one like `looker-acme.looker.com.vault`. */
function vaultPathFor({ data, extraction }: ExtractionSettings, { name }: Pick<Source, 'name'>): string {
  if (extraction.vault !== null) return extraction.vault;
  const file = name.replace(/https?:\/\//, '').replaceAll(/[^\w.-]+/g, '-');
  return resolve(join(vaultsFolder(data.folder), `${file}.vault`));
}

export interface ExtractionDeps {
  readonly settings: ExtractionSettings;
  /** Secrets of the settings, to be redacted. */
  readonly secrets: readonly string[];
  readonly database: Database;
  readonly jobs: JobQueue;
  readonly events: Emitter<RunEvents>;
  readonly log: Log;
  readonly redactor: Redactor;
  /** The server's environment, with the secrets of sources. */
  readonly env: Environment;
  /** Variables with secrets of the server itself, which no registered source may read. */
  readonly serverSecretVariables: readonly string[];
  /** Only a server that stays runs extractions: vaults are in its data folder. */
  readonly runsJobs: boolean;
  /** Counts and traces the events of runs; they are not streamed, because a fast run emits thousands per second. */
  readonly observe: (events: EventBus<ExtractionEvents>) => void;
  readonly closing: AsyncDisposableStack;
}

export interface Extraction {
  readonly sources: SourceService;
  readonly runs: RunService;
  readonly vaults: VaultService;
  /** The retention rule of runs. */
  readonly retention: {
    readonly kind: string;
    readonly describe: string;
    purge(before: Date, limit: number): Promise<number>;
  };
}

/** A cron minute is detected within this time; each occurrence is claimed once, by whichever server is first. */
const scheduleIntervalMs = 5_000;

/** Opens the registered sources and runs of a server, and starts their jobs and schedules. */
export async function openExtraction(deps: ExtractionDeps): Promise<Extraction> {
  const { settings, database, jobs, events, redactor } = deps;
  const env = sourceEnvironment(deps.env, deps.serverSecretVariables);
  const runStore = new PostgresRunStore(database);
  const common = {
    sources: new PostgresSourceStore(database),
    runs: runStore,
    clock: systemClock,
    ids: systemIds,
    events,
    redact: (text: string) => redactor.text(text),
  };
  const sources = new SourceService({
    ...common,
    problems: (draft) => sourceProblems(draft, settings.extraction, env),
  });
  const runs = new RunService({
    ...common,
    inTransaction: (work) => database.transaction(work),
    jobs,
  });
  const extraction: Extraction = {
    sources,
    runs,
    vaults: openVaultService(runs, settings.data.folder),
    retention: {
      kind: 'extraction-runs',
      describe: 'extraction runs that have ended',
      purge: (before, limit) => runStore.purge(before, limit),
    },
  };
  await jobs.define([extractionRunJob]);
  if (!deps.runsJobs) return extraction;
  if (settings.extraction.sourcesFile !== null)
    await sources.syncFile(await readSourcesFile(settings.extraction.sourcesFile));
  await jobs.work(
    extractionRunJob,
    extractionRunHandler({ ...common, extract: extractRegistered(deps, env) }),
  );
  startSchedules(runs, deps);
  return extraction;
}

/**
 * The environment without the secrets of the server itself: the registrant of a source decides where its secrets are
 * sent, and must not be able to send the server's.
 */
export function sourceEnvironment(env: Environment, serverSecretVariables: readonly string[]): Environment {
  const hidden = new Set(serverSecretVariables);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !hidden.has(name)));
}

function extractRegistered(deps: ExtractionDeps, env: Environment): ExtractSource {
  const { settings, secrets, redactor, log } = deps;
  const observed = new EventBus(extractionEvents);
  deps.observe(observed);
  return async (source, { fresh, retryFailed, signal, onEvent }) =>
    extract(settingsFor(source, settings, env, retryFailed), choiceOf(source), {
      fresh,
      signal,
      env,
      secrets,
      onSecret: (secret) => redactor.add(secret),
      onEvent: (emitted: EmittedEvent) => {
        const { name, payload, spec } = emitted;
        observed.emit(name as keyof ExtractionEvents, payload);
        if (spec.level === 'warn' || spec.level === 'error')
          log[spec.level](spec.message, { source: source.name, ...payload });
        onEvent(emitted);
      },
    });
}

function choiceOf({ name, settings }: ExtractionSource): SourceChoice {
  if (!('definition' in settings)) return { kind: 'looker' };
  return { kind: 'rest', file: `the source ${name}`, text: settings.definition };
}

/** The source's settings over the server's, its secrets from the environment. */
function settingsFor(
  { settings, options, vault }: ExtractionSource,
  server: ExtractionSettings,
  env: Environment,
  retryFailed: boolean,
): ExtractionSettings {
  const { clientId, clientSecret } = server.looker;
  // The server may have these two under other names, or from its file.
  const values: Readonly<Record<string, string | null | undefined>> = {
    ...env,
    LOOKER_CLIENT_ID: clientId,
    LOOKER_CLIENT_SECRET: clientSecret,
  };
  const valueOf = (variable: string): string => {
    const value = values[variable];
    if (value) return value;
    throw new CoreError('CONFIG_INVALID', `The environment variable ${variable} is not set in the server.`);
  };
  const looker =
    'definition' in settings
      ? server.looker
      : {
          ...server.looker,
          baseUrl: settings.base_url,
          clientId: valueOf(settings.client_id_env),
          clientSecret: valueOf(settings.client_secret_env),
        };
  return {
    ...server,
    extraction: {
      ...effectiveOptions(options, server.extraction),
      retryFailed,
      vault: join(vaultsFolder(server.data.folder), vault),
    },
    looker,
  };
}

/** Not a job of its own: one per minute would fill the list of jobs. */
function startSchedules(runs: RunService, { log, closing }: ExtractionDeps): void {
  const startDue = () =>
    runs
      .startDue()
      .catch((error: unknown) => log.warn('Schedules could not be checked.', { cause: kindOf(error) }));
  let last: Promise<unknown> = startDue();
  const stop = every(systemClock, scheduleIntervalMs, () => (last = startDue()));
  closing.defer(async () => {
    stop();
    await last;
  });
}
