// One live stream for all tabs: browsers allow six connections per server, and a stream occupies one permanently.
import { followLive, type Connection, type LiveMessage } from './live-stream.ts';

const tabs = new Set<MessagePort>();
let connection: Connection = 'connecting';
let closing: AbortController | null = null;

function notify(message: LiveMessage): void {
  if ('connection' in message) connection = message.connection;
  for (const tab of tabs) tab.postMessage(message, []);
}

function attach(tab: MessagePort): void {
  tabs.add(tab);
  if (closing) tab.postMessage({ connection, hasMissed: false } satisfies LiveMessage, []);
  else {
    closing = new AbortController();
    void followLive(notify, closing.signal);
  }
}

function detach(tab: MessagePort): void {
  tabs.delete(tab);
  if (tabs.size > 0) return;
  closing?.abort();
  closing = null;
  connection = 'connecting';
}

addEventListener('connect', (event) => {
  const [tab] = (event as MessageEvent).ports;
  if (!tab) return;
  tab.addEventListener('message', ({ data }) => (data === 'detach' ? detach(tab) : attach(tab)));
  tab.start();
});
