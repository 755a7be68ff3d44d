// Calls of one moment travel together: what is asked before promises have settled goes out as one.

/** A call that waits for its reply. */
export interface WaitingCall<Call, Answer> {
  readonly call: Call;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export interface CallBatchOptions<Call, Answer> {
  /** Sends them as one, in their order. A rejection is everybody's. */
  readonly send: (waiting: readonly WaitingCall<Call, Answer>[]) => Promise<readonly unknown[]>;
  /** What the common reply says to the call at `index`. */
  readonly answer: (replies: readonly unknown[], index: number, call: Call) => Answer;
  /** More go out in several batches: one may not keep the other side from everybody else for long. */
  readonly largest: number;
}

export class CallBatch<Call, Answer> {
  readonly #options: CallBatchOptions<Call, Answer>;
  readonly #flush = (): void => this.flush();
  #waiting: WaitingCall<Call, Answer>[] = [];

  constructor(options: CallBatchOptions<Call, Answer>) {
    this.#options = options;
  }

  ask(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const length = this.#waiting.push({ call, resolve, reject });
      if (length === 1) queueMicrotask(this.#flush);
      else if (length === this.#options.largest) this.flush();
    });
  }

  /** Sends what waits now. */
  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    const { send, answer } = this.#options;
    send(waiting).then(
      (replies) => waiting.forEach(({ call, resolve }, index) => resolve(answer(replies, index, call))),
      (error: unknown) => waiting.forEach(({ reject }) => reject(error)),
    );
  }
}
