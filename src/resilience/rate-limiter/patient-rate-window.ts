// A window whose journal another process may hold for a while: nobody is deaf meanwhile, and nobody may go.
import type { FileWait } from '../file-patience.ts';
import { onceFileIsFree } from '../file-patience.ts';
import type { MemoryRateWindow } from './memory-rate-window.ts';
import type { Demand, LocalRateWindow, RateLimits, Taken, WindowState } from './ports.ts';

/** Answers at once unless the journal is held. Fails with SQLITE_BUSY when that takes longer than the patience. */
export class PatientRateWindow implements LocalRateWindow {
  readonly limits: RateLimits;
  readonly isLocal = true;
  readonly #window: MemoryRateWindow;
  readonly #wait: FileWait;

  constructor(window: MemoryRateWindow, wait: FileWait) {
    this.limits = window.limits;
    this.#window = window;
    this.#wait = wait;
  }

  take(demand: Demand): Taken | Promise<Taken> {
    return onceFileIsFree(() => this.#window.take(demand), this.#wait);
  }

  adopt(state: WindowState): void | Promise<void> {
    return onceFileIsFree(() => this.#window.adopt(state), this.#wait);
  }
}
