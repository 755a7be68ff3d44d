// Reads server-sent events with fetch: EventSource wants to know every event's name beforehand, and hides why it failed.

export interface StreamMessage {
  readonly event: string;
  readonly data: string;
}

/** The messages of one connection, until it ends. Fails when it cannot be opened, or breaks. */
export async function* readEventStream(
  url: string,
  signal: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<StreamMessage, void> {
  const answer = await fetch(url, { headers: { accept: 'text/event-stream' }, signal });
  if (!answer.ok || answer.body === null) throw new Error(`The live stream answered ${answer.status}.`);
  onOpen();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = messageIn(block);
      if (message) yield message;
    }
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
