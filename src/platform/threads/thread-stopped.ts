// Why work in a thread came to no end.

/**
 * - `time`: it took longer than it was given; the thread was ended.
 * - `memory`: it took more memory than it was given; the thread was ended.
 * - `died`: the thread ended by itself.
 */
export type StopReason = 'time' | 'memory' | 'died';

/** Work in a thread was ended before it had a result. Nothing else was harmed. */
export class ThreadStopped extends Error {
  override readonly name = 'ThreadStopped';
  readonly reason: StopReason;

  constructor(reason: StopReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

/** The function in the thread threw: its error's name and message, as far as they can be cloned. */
export class ThreadThrew extends Error {
  override readonly name = 'ThreadThrew';
  readonly errorName: string;

  constructor(errorName: string, message: string) {
    super(message);
    this.errorName = errorName;
  }
}
