// Writes a run that goes on: about once a second while it changes, now and then as a sign of life, and at its end.
import type { Clock } from '../../core/index.ts';
import type { ExtractionRun, RunStore } from './ports.ts';

const everyMs = 1_000;
/** Well within the silence after which a run counts as interrupted. */
const signOfLifeMs = 10_000;
const lastTries = 5;

export class RunWriter {
  readonly #runs: Pick<RunStore, 'put'>;
  readonly #clock: Clock;
  #run: ExtractionRun;
  #writtenAt = -Infinity;
  #writing: Promise<unknown> = Promise.resolve();
  #isWriting = false;
  #isClosed = false;
  #cancelSign: () => void = () => undefined;

  constructor(runs: Pick<RunStore, 'put'>, clock: Clock, run: ExtractionRun) {
    this.#runs = runs;
    this.#clock = clock;
    this.#run = run;
    this.#write();
    this.#signOfLife();
  }

  get run(): ExtractionRun {
    return this.#run;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Cheap: call it as often as you like. A session that becomes known is written at once. True: it is written now. */
  change(change: Partial<ExtractionRun>): boolean {
    if (this.#isClosed) return false;
    const isUrgent = change.session !== undefined && change.session !== this.#run.session;
    this.#run = { ...this.#run, ...change };
    const isDue = isUrgent || this.#clock.monotonic() - this.#writtenAt >= everyMs;
    if (isDue) this.#write(isUrgent);
    return isDue;
  }

  /** Writes the end, and tries again for a while when the store is away. */
  async close(change: Partial<ExtractionRun>): Promise<void> {
    this.#isClosed = true;
    this.#cancelSign();
    await this.#writing;
    this.#run = { ...this.#run, ...change, reportedAt: new Date(this.#clock.now()) };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#runs.put(this.#run);
        return;
      } catch (error) {
        if (attempt === lastTries) throw error;
        await this.#clock.sleep(attempt * 500);
      }
    }
  }

  /** What cannot be written is written next time. */
  #write(isUrgent = false): void {
    if (this.#isWriting && !isUrgent) return;
    this.#writtenAt = this.#clock.monotonic();
    this.#run = { ...this.#run, reportedAt: new Date(this.#clock.now()) };
    const { run } = this;
    this.#isWriting = true;
    this.#writing = this.#writing
      .then(() => this.#runs.put(run))
      .catch(() => undefined)
      .finally(() => (this.#isWriting = false));
  }

  #signOfLife(): void {
    this.#cancelSign = this.#clock.after(signOfLifeMs, () => {
      this.#write();
      this.#signOfLife();
    });
  }
}
