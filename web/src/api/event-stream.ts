// Reads server-sent events with fetch: EventSource wants to know every event's name beforehand, and hides why it failed.

export interface StreamMessage {
  readonly event: string;
  readonly data: string;
}

/** The server gives a sign of life every ten seconds. */
const longestSilenceMs = 25_000;

/** The messages of one connection, until it ends. Fails when it cannot be opened, breaks, or says nothing for too long. */
export async function* readEventStream(
  url: string,
  signal: AbortSignal,
  onOpen: () => void,
  silenceMs = longestSilenceMs,
): AsyncGenerator<StreamMessage, void> {
  const silence = new Silence(silenceMs);
  try {
    const answer = await fetch(url, {
      headers: { accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (!answer.ok || answer.body === null) throw new Error(`The live stream answered ${answer.status}.`);
    onOpen();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      silence.broken();
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const message = messageIn(block);
        if (message) yield message;
      }
    }
  } finally {
    silence.end();
  }
}

/** Aborts its signal when nothing breaks it in time: a server that hangs closes no connection. */
class Silence {
  readonly #closing = new AbortController();
  readonly #longestMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.broken();
  }

  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  broken(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#closing.abort(new Error('The live stream is silent.')),
      this.#longestMs,
    );
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Null for a comment, which is a sign of life. */
function messageIn(block: string): StreamMessage | null {
  const fields = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  const event = fields.get('event');
  const data = fields.get('data');
  return event === undefined || data === undefined ? null : { event, data };
}
