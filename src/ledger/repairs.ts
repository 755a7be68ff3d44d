// Runs repairs: those that are due, or those that were requested, in a background job; and closes entries by hand. A
// repair that throws is a failed repair, not a crash.
import type {
  Clock,
  Emitter,
  JobProgress,
  Random,
  Redactor,
  JobDefinition,
  JobHandler,
  JobQueue,
} from '../core/index.ts';
import { CoreError, kindOf, messageOf, storableText, withTimeout } from '../core/index.ts';
import type { Backoff } from '../resilience/retry.ts';
import { exponentialBackoff } from '../resilience/retry.ts';
import { LedgerError } from './errors.ts';
import type { LedgerEvents } from './events.ts';
import type { LedgerOptions } from './options.ts';
import type { LedgerEntry, LedgerStore, Repair, RepairOutcome } from './store.ts';
import { z } from 'zod';

export interface RegisteredRepair {
  readonly kind: string;
  /** What the repair does, in one sentence, for help and operators. */
  readonly describe: string;
  readonly repair: Repair;
}

export class RepairRegistry {
  readonly #repairs = new Map<string, RegisteredRepair>();

  /** Fails with LEDGER_REPAIR_TAKEN when the kind has one already. */
  register(repair: RegisteredRepair): void {
    if (this.#repairs.has(repair.kind))
      throw new LedgerError('LEDGER_REPAIR_TAKEN', `Two repairs are registered for the kind ${repair.kind}.`);
    this.#repairs.set(repair.kind, repair);
  }

  get(kind: string): RegisteredRepair | undefined {
    return this.#repairs.get(kind);
  }

  list(): readonly RegisteredRepair[] {
    return [...this.#repairs.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1));
  }
}

export interface RepairRunnerDeps {
  readonly store: LedgerStore;
  readonly registry: RepairRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly redactor: Redactor;
  readonly events: Emitter<LedgerEvents>;
  readonly options: Pick<
    LedgerOptions,
    'repairBatch' | 'repairConcurrency' | 'repairTimeoutMs' | 'repairBackoffMs' | 'repairBackoffMaxMs'
  >;
}

/** Every open row by default. A request by kind or id does not wait for the backoff. */
export interface RepairRequest {
  readonly kind?: string | undefined;
  readonly id?: string | undefined;
  /** Only rows whose backoff is over. */
  readonly due?: boolean | undefined;
}

export interface RepairReport {
  readonly tried: number;
  readonly repaired: number;
  /** The subject no longer exists. */
  readonly gone: number;
  readonly stillBroken: number;
  /** Open rows without a registered repair; they were not tried. */
  readonly withoutRepair: readonly { readonly kind: string; readonly open: number }[];
}

export interface RepairRunContext {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobProgress) => void;
}

type Ending = 'repaired' | 'gone' | 'stillBroken';

const maxErrorLength = 1_000;

export class RepairRunner {
  readonly #deps: RepairRunnerDeps;
  readonly #backoff: Backoff;

  constructor(deps: RepairRunnerDeps) {
    this.#deps = deps;
    const { repairBackoffMs: initialMs, repairBackoffMaxMs: maxMs } = deps.options;
    this.#backoff = exponentialBackoff({ initialMs, maxMs, jitter: 'equal' });
  }

  /**
   * Resolves when every requested row was tried once. Fails with LEDGER_ENTRY_UNKNOWN, LEDGER_ENTRY_RESOLVED,
   * LEDGER_REPAIR_UNKNOWN or LEDGER_KIND_UNKNOWN when the requested row or kind cannot be tried, with the signal's
   * reason when it aborts (rows not tried are unchanged), and as the store does.
   */
  async run(request: RepairRequest = {}, context: RepairRunContext = {}): Promise<RepairReport> {
    const endings = { repaired: 0, gone: 0, stillBroken: 0 };
    const counts = await this.#deps.store.counts();
    this.#checkKind(
      request.kind,
      counts.map(({ kind }) => kind),
    );
    const requested = counts.filter(({ kind, open }) => open > 0 && kind === (request.kind ?? kind));
    const known = requested.filter(({ kind }) => this.#deps.registry.get(kind));
    const unknown = requested.filter(({ kind }) => !this.#deps.registry.get(kind));
    const open = known.reduce((sum, count) => sum + count.open, 0);
    const total = request.id === undefined ? (request.due ? undefined : open) : 1;
    let tried = 0;
    for await (const page of this.#pages(
      request,
      known.map(({ kind }) => kind),
    ))
      await this.#inParallel(page, context.signal, (ending) => {
        tried += 1;
        endings[ending] += 1;
        context.onProgress?.({
          done: tried,
          total: total === undefined ? undefined : Math.max(total, tried),
        });
      });
    const withoutRepair = request.id === undefined ? unknown.map(({ kind, open }) => ({ kind, open })) : [];
    return { tried, ...endings, withoutRepair };
  }

  /** Fails as `run` would for a request that cannot be fulfilled. */
  async check(request: RepairRequest): Promise<void> {
    const counts = await this.#deps.store.counts();
    this.#checkKind(
      request.kind,
      counts.map(({ kind }) => kind),
    );
    if (request.id !== undefined) await this.#one(request.id);
  }

  #checkKind(kind: string | undefined, known: readonly string[]): void {
    if (kind === undefined || known.includes(kind) || this.#deps.registry.get(kind)) return;
    throw new LedgerError(
      'LEDGER_KIND_UNKNOWN',
      `Nothing of the kind "${kind}" is in the ledger, and no repair is registered for it. "headworks ledger" lists what is open.`,
      { details: { kind } },
    );
  }

  async *#pages(request: RepairRequest, kinds: readonly string[]): AsyncGenerator<readonly LedgerEntry[]> {
    if (request.id !== undefined) yield [await this.#one(request.id)];
    else if (request.due) yield* this.#duePages(kinds);
    else for (const kind of kinds) yield* this.#openPages(kind);
  }

  async #one(id: string): Promise<LedgerEntry> {
    const entry = await openEntry(this.#deps.store, id);
    if (!this.#deps.registry.get(entry.kind))
      throw new LedgerError(
        'LEDGER_REPAIR_UNKNOWN',
        `No repair is registered for ${entry.kind}: repair it manually, then close the row ${id}.`,
        { details: { id, kind: entry.kind } },
      );
    return entry;
  }

  /** A row that is due again before the run is over waits for the next run. */
  async *#duePages(kinds: readonly string[]): AsyncGenerator<readonly LedgerEntry[]> {
    const { store, clock, options } = this.#deps;
    const seen = new Set<string>();
    for (;;) {
      const page = await store.due(kinds, new Date(clock.now()), options.repairBatch);
      const fresh = page.filter((entry) => !seen.has(entry.id));
      if (fresh.length === 0) return;
      for (const entry of fresh) seen.add(entry.id);
      yield fresh;
    }
  }

  async *#openPages(kind: string): AsyncGenerator<readonly LedgerEntry[]> {
    const { store, options } = this.#deps;
    let after: string | undefined;
    do {
      const page = await store.list({ kind, limit: options.repairBatch, after });
      if (page.length > 0) yield page;
      after = page.length < options.repairBatch ? undefined : page.at(-1)?.id;
    } while (after !== undefined);
  }

  async #inParallel(
    page: readonly LedgerEntry[],
    signal: AbortSignal | undefined,
    onEnd: (ending: Ending) => void,
  ): Promise<void> {
    const queue = page.values();
    const worker = async () => {
      for (const entry of queue) {
        signal?.throwIfAborted();
        const registered = this.#deps.registry.get(entry.kind);
        if (registered) onEnd(await this.#repair(registered, entry, signal));
      }
    };
    const workers = Array.from({ length: this.#deps.options.repairConcurrency }, worker);
    const failed = (await Promise.allSettled(workers)).find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async #repair(
    registered: RegisteredRepair,
    entry: LedgerEntry,
    signal: AbortSignal | undefined,
  ): Promise<Ending> {
    const { store, clock, events } = this.#deps;
    const outcome = await this.#try(registered, entry, signal);
    if (outcome.outcome === 'still-broken') return this.#postpone(entry, outcome.cause, outcome.reason);
    const resolution = outcome.outcome === 'gone' ? 'gone' : 'repair';
    if (await store.markResolved(entry.id, resolution, new Date(clock.now()), entry.count)) {
      events.emit('ledger:resolved', { id: entry.id, kind: entry.kind, subject: entry.subject, resolution });
      return outcome.outcome;
    }
    const now = await store.get(entry.id);
    if (!now || now.resolvedAt) return outcome.outcome;
    return this.#postpone(entry, 'LEDGER_ENTRY_SEEN_AGAIN', 'It failed again while it was being repaired.');
  }

  async #try(
    registered: RegisteredRepair,
    entry: LedgerEntry,
    signal: AbortSignal | undefined,
  ): Promise<RepairOutcome & { readonly cause: string; readonly reason: string }> {
    const { clock, options } = this.#deps;
    try {
      const outcome = await withTimeout((attempt) => registered.repair(entry, attempt), {
        clock,
        timeoutMs: options.repairTimeoutMs,
        signal,
        onTimeout: () =>
          new CoreError('DEADLINE_EXCEEDED', `The repair took longer than ${options.repairTimeoutMs} ms.`),
      });
      return { cause: 'STILL_BROKEN', reason: '', ...outcome };
    } catch (error) {
      signal?.throwIfAborted();
      return { outcome: 'still-broken', cause: kindOf(error), reason: messageOf(error) };
    }
  }

  async #postpone(entry: LedgerEntry, cause: string, reason: string): Promise<'stillBroken'> {
    const { store, clock, random, redactor, events } = this.#deps;
    const attempts = entry.repairAttempts + 1;
    const waitMs = this.#backoff.delayMs(attempts, random);
    const nextRepairAt = new Date(clock.now() + waitMs);
    await store.markRepairFailed(entry.id, storableText(redactor.text(reason), maxErrorLength), nextRepairAt);
    events.emit('ledger:repair-failed', {
      id: entry.id,
      kind: entry.kind,
      subject: entry.subject,
      cause,
      attempts,
      nextRepairAt: nextRepairAt.toISOString(),
    });
    return 'stillBroken';
  }
}

const payload = z.strictObject({
  kind: z.string().min(1).optional(),
  id: z.uuid().optional(),
  due: z.boolean().optional(),
});

export const ledgerRepairJob: JobDefinition<RepairRequest> = {
  name: 'ledger.repair',
  description: 'Repairs degradations: all open ones, one kind, one entry, or those that are due.',
  parse: (raw) => payload.parse(raw ?? {}),
  // Only an error of the store fails the job; a row that cannot be repaired has its own backoff.
  retries: 3,
  retryDelayMs: 5_000,
  retryBackoff: true,
  concurrency: 1,
  timeoutMs: 15 * 60_000,
};

/**
 * Skipped when there was nothing to repair; its result is the RepairReport. `beforeRequested` is called before a run
 * that was requested, not before a scheduled one.
 */
export function ledgerRepairHandler(
  runner: Pick<RepairRunner, 'run'>,
  beforeRequested: () => void = () => undefined,
): JobHandler<RepairRequest> {
  return async (request, context) => {
    if (request.due !== true) beforeRequested();
    const report = await runner.run(request, {
      signal: context.signal,
      onProgress: (progress) => context.progress(progress),
    });
    if (report.tried > 0 || report.withoutRepair.length > 0) return { result: report };
    return { skipped: 'No open entry can be repaired now.' };
  };
}

/**
 * Does not wait and ignores failures: repairs are also scheduled. A queued or running repair of the same kind and `key`
 * is not enqueued again.
 */
export function requestRepairs(
  jobs: Pick<JobQueue, 'enqueue'>,
  kinds: readonly string[],
  key?: string,
): void {
  for (const kind of kinds) {
    const repair = jobs.enqueue(ledgerRepairJob, { kind }, { key: JSON.stringify([kind, key]) });
    repair.catch(() => undefined);
  }
}

/** The payload of the background schedule. */
export const dueRepairs: RepairRequest = { due: true };

/** The cron expression for an interval in minutes; null when background repair is off. */
export function repairCron(everyMinutes: number): string | null {
  return everyMinutes === 0 ? null : `*/${everyMinutes} * * * *`;
}

async function openEntry(store: LedgerStore, id: string): Promise<LedgerEntry> {
  const entry = await store.get(id);
  const details = { id };
  if (!entry) throw new LedgerError('LEDGER_ENTRY_UNKNOWN', `There is no ledger row ${id}.`, { details });
  if (entry.resolvedAt)
    throw new LedgerError('LEDGER_ENTRY_RESOLVED', `The ledger row ${id} is already resolved.`, { details });
  return entry;
}

export interface ResolveEntryDeps {
  readonly store: LedgerStore;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly events: Emitter<LedgerEvents>;
}

/**
 * The resolved entry. `text` says how it was resolved, and is kept with it. Fails with LEDGER_ENTRY_UNKNOWN, LEDGER_ENTRY_RESOLVED,
 * or LEDGER_ENTRY_SEEN_AGAIN when it failed again at the same time.
 */
export async function resolveEntry(deps: ResolveEntryDeps, id: string, text: string): Promise<LedgerEntry> {
  const { store, clock, redactor, events } = deps;
  const entry = await openEntry(store, id);
  const resolvedAt = new Date(clock.now());
  const resolution = storableText(redactor.text(text), 500);
  if (!(await store.markResolved(id, resolution, resolvedAt, entry.count)))
    throw new LedgerError(
      'LEDGER_ENTRY_SEEN_AGAIN',
      `The ledger row ${id} changed while it was being resolved. Check it again.`,
      { details: { id }, isRetryable: true },
    );
  events.emit('ledger:resolved', { id, kind: entry.kind, subject: entry.subject, resolution: 'manual' });
  return { ...entry, resolvedAt, resolution, nextRepairAt: null };
}
