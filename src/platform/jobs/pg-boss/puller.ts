// The slots of one kind of job in this process: claims jobs when there is room, runs them, writes down how they ended.
import type { JobDefinition, JobHandler, Random } from '../../../core/index.ts';
import type { AttemptDependencies, StopCause } from '../job-attempt.ts';
import { JobAttempt } from '../job-attempt.ts';
import { crashAllowance } from '../job-rules.ts';
import type { Settlement } from '../settlement.ts';
import { emitSettlement, settle } from '../settlement.ts';
import type { JobOutput } from './job-row.ts';
import type { Claim, SettleRecord } from './job-statements.ts';
import type { Settler } from './settler.ts';
import type { StoreWatch } from './store-watch.ts';

export interface ClaimedRow extends Claim {
  readonly payload: unknown;
  readonly retryLimit: number;
}

export interface PullerParts {
  readonly claim: (name: string, count: number) => Promise<readonly ClaimedRow[]>;
  readonly settler: Settler;
  readonly watch: StoreWatch;
  readonly random: Random;
  readonly attempts: AttemptDependencies;
}

export interface RunningJob {
  readonly claim: Claim;
  readonly attempt: JobAttempt;
}

export class Puller {
  readonly running = new Map<string, RunningJob>();
  readonly #definition: JobDefinition<unknown>;
  readonly #handler: JobHandler<unknown>;
  readonly #parts: PullerParts;
  readonly #ending = new Set<Promise<void>>();
  #mayHaveMore = false;
  #pulling: Promise<void> | undefined;
  #isDraining = false;

  constructor(definition: JobDefinition<unknown>, handler: JobHandler<unknown>, parts: PullerParts) {
    this.#definition = definition;
    this.#handler = handler;
    this.#parts = parts;
  }

  get freeSlots(): number {
    return this.#isDraining ? 0 : this.#definition.concurrency - this.running.size;
  }

  /** There may be something to do. Never fails: what cannot be claimed now is found by the next poll. */
  wake(): void {
    this.#mayHaveMore = true;
    this.#pull();
  }

  /** Wakes after `ms`: for a job that this process itself has put off. */
  wakeAfter(ms: number): void {
    this.#parts.attempts.clock.after(ms, () => this.wake());
  }

  stopAll(cause: StopCause): void {
    for (const { attempt } of this.running.values()) attempt.stop(cause);
  }

  /** Takes no more jobs; resolves when all that run have ended and been written down. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#pulling;
    await Promise.all(this.#ending);
  }

  #pull(): void {
    this.#pulling ??= this.#claimWhileFree().finally(() => {
      this.#pulling = undefined;
    });
  }

  async #claimWhileFree(): Promise<void> {
    while (this.#mayHaveMore && this.freeSlots > 0) {
      this.#mayHaveMore = false;
      const wanted = this.freeSlots;
      try {
        const rows = await this.#parts.claim(this.#definition.name, wanted);
        this.#parts.watch.worked();
        if (rows.length === wanted) this.#mayHaveMore = true;
        for (const row of rows) this.#start(row);
      } catch (error) {
        this.#parts.watch.failed('claim', error);
      }
    }
  }

  #start(row: ClaimedRow): void {
    const claim: Claim = { name: row.name, id: row.id, retryCount: row.retryCount };
    const ended = this.#isDraining ? this.#write(claim, { kind: 'released' }, null) : this.#run(claim, row);
    const ending = ended.then(() => this.#pullMore()).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #pullMore(): void {
    if (this.#mayHaveMore) this.#pull();
  }

  async #run(claim: Claim, row: ClaimedRow): Promise<void> {
    const number = row.retryCount + 1;
    const attempt = new JobAttempt(
      this.#definition,
      this.#handler,
      { id: row.id, payload: row.payload, attempt: number },
      this.#parts.attempts,
    );
    // This process stood still for so long that the job was taken from it, and has now claimed it once more.
    this.running.get(row.id)?.attempt.stop('lost');
    this.running.set(row.id, { claim, attempt });
    const end = await attempt.ended;
    const tries = { number, isLastTry: row.retryCount >= row.retryLimit - crashAllowance };
    const settlement = settle(end, this.#definition, tries, this.#parts.random);
    const written = await this.#write(claim, settlement, attempt);
    if (this.running.get(row.id)?.attempt === attempt) this.running.delete(row.id);
    if (written) emitSettlement(this.#parts.attempts.events, row.name, attempt, written);
    if (written?.kind === 'retried') this.wakeAfter(written.retryInMs);
  }

  /** What the store has now; `undefined` when there was nothing of ours to write. */
  async #write(
    claim: Claim,
    settlement: Settlement,
    attempt: JobAttempt | null,
  ): Promise<Settlement | undefined> {
    if (settlement.kind === 'untouched') return undefined;
    const progress = attempt?.progress ?? null;
    const record: SettleRecord = {
      ...claim,
      kind: settlement.kind,
      delayMs: settlement.kind === 'retried' ? settlement.retryInMs : 0,
      output: { ...outputOf(settlement), ...(progress ? { progress } : {}) },
    };
    const written = await this.#parts.settler.settle(record);
    if (!written) return undefined;
    if (written === record) return settlement;
    return { kind: 'failed', reason: (written.output as JobOutput).reason ?? '' };
  }
}

function outputOf(settlement: Settlement): JobOutput {
  switch (settlement.kind) {
    case 'done':
      return { result: settlement.result };
    case 'skipped':
      return { skipped: settlement.reason };
    case 'retried':
    case 'failed':
      return { reason: settlement.reason };
    case 'released':
    case 'untouched':
    default:
      return {};
  }
}
