// Server-sent events over fetch: EventSource needs every event name in advance and hides errors.

export interface StreamMessage {
  readonly event: string;
  readonly data: string;
}

/** The server sends a heartbeat every ten seconds. */
const defaultIdleTimeoutMs = 25_000;

/** Messages of one connection until it ends. Throws when it cannot be opened, breaks, or is idle for too long. */
export async function* readEventStream(
  url: string,
  signal: AbortSignal,
  onOpen: () => void,
  idleTimeoutMs = defaultIdleTimeoutMs,
): AsyncGenerator<StreamMessage, void> {
  const idleTimer = new IdleTimer(idleTimeoutMs);
  try {
    const response = await fetch(url, {
      headers: { accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, idleTimer.signal]),
    });
    if (!response.ok || response.body === null)
      throw new Error(`The live stream responded with status ${response.status}.`);
    onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      idleTimer.reset();
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const message = messageIn(block);
        if (message) yield message;
      }
    }
  } finally {
    idleTimer.stop();
  }
}

/** Aborts its signal unless `reset` is called in time: a hanging server does not close the connection. */
class IdleTimer {
  readonly #closing = new AbortController();
  readonly #timeoutMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.reset();
  }

  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  reset(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#closing.abort(new Error('The live stream is idle.')),
      this.#timeoutMs,
    );
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Null for a comment, which is a heartbeat. */
function messageIn(block: string): StreamMessage | null {
  const fields = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  const event = fields.get('event');
  const data = fields.get('data');
  return event === undefined || data === undefined ? null : { event, data };
}
