// Tells how far a backup or a restore is, now and then.
import { systemClock } from '../../core/index.ts';

export interface BackupProgress {
  /** Rows. */
  readonly done: number;
  readonly total: number;
  /** The table or file that is being read. */
  readonly at: string;
}

/** A terminal has no use for more, and a log less. */
const tellEveryMs = 1_000;

export class ProgressTeller {
  total = 0;
  readonly #tell: (progress: BackupProgress) => void;
  #done = 0;
  #at = '';
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(tell: (progress: BackupProgress) => void) {
    this.#tell = tell;
  }

  at(name: string): void {
    this.#at = name;
    this.#tellIfDue();
  }

  one(): void {
    this.#done += 1;
    this.#tellIfDue();
  }

  #tellIfDue(): void {
    const now = systemClock.monotonic();
    if (now < this.#nextAt) return;
    this.#nextAt = now + tellEveryMs;
    this.#tell({ done: this.#done, total: this.total, at: this.#at });
  }
}
