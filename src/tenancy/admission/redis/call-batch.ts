// Calls made in the same tick travel in one batch.

/** A call without a reply yet. */
export interface PendingCall<Call, Result> {
  readonly call: Call;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface CallBatchOptions<Call, Result> {
  /** Sends the calls as one, in their order. A rejection applies to all of them. */
  readonly send: (calls: readonly PendingCall<Call, Result>[]) => Promise<readonly unknown[]>;
  /** The result of the call at `index` from the common reply. */
  readonly read: (replies: readonly unknown[], index: number, call: Call) => Result;
  /** More calls go out in several batches, so that one does not occupy the server for long. */
  readonly maxSize: number;
}

export class CallBatch<Call, Result> {
  readonly #options: CallBatchOptions<Call, Result>;
  readonly #flush = (): void => this.flush();
  #calls: PendingCall<Call, Result>[] = [];

  constructor(options: CallBatchOptions<Call, Result>) {
    this.#options = options;
  }

  add(call: Call): Promise<Result> {
    return new Promise((resolve, reject) => {
      const length = this.#calls.push({ call, resolve, reject });
      if (length === 1) queueMicrotask(this.#flush);
      else if (length === this.#options.maxSize) this.flush();
    });
  }

  /** Sends what is pending now. */
  flush(): void {
    const calls = this.#calls;
    if (calls.length === 0) return;
    this.#calls = [];
    const { send, read } = this.#options;
    send(calls).then(
      (replies) => calls.forEach(({ call, resolve }, index) => resolve(read(replies, index, call))),
      (error: unknown) => calls.forEach(({ reject }) => reject(error)),
    );
  }
}
