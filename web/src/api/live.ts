// Live event stream: connection state, and invalidation of the queries that events make stale.
import type { StreamedEvent } from '../../../src/api/server.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { followLive, type Connection, type LiveMessage } from './live-stream.ts';
import { createRefresher } from './refresh-stale.ts';
import { staleBy } from './stale-by.ts';

export type { Connection } from './live-stream.ts';

const refreshEveryMs = 1_000;

export type LiveListener = (event: StreamedEvent) => void;
const listeners = new Set<LiveListener>();

/** Calls `listener` with every live event while mounted. Pass a stable function. */
export function useLiveEvents(listener: LiveListener): void {
  useEffect(() => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [listener]);
}

/** Opens the live stream. Used once, in the shell. */
export function useLiveConnection(): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => {
    const stale = new Set<string>();
    const refresh = createRefresher(client);
    const timer = setInterval(() => refresh(stale), refreshEveryMs);
    const stop = openLive((message) => {
      if ('event' in message) return take(message.event, stale);
      setConnection(message.connection);
      if (message.connection === 'live' && message.hasMissed) void client.invalidateQueries();
      // Detects an ended session: no other query runs while nothing happens.
      if (message.connection === 'lost') void client.invalidateQueries({ queryKey: ['alerts'] });
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [client]);
  return connection;
}

/** One stream for all tabs where SharedWorker exists. The returned function stops listening. */
function openLive(notify: (message: LiveMessage) => void): () => void {
  const closing = new AbortController();
  const { signal } = closing;
  const openDirectly = () => void followLive(notify, signal);
  if (typeof SharedWorker === 'undefined') openDirectly();
  else {
    const worker = new SharedWorker(new URL('./live-worker.ts', import.meta.url), { type: 'module' });
    // The script of the worker cannot be loaded, for example after an update of the server.
    worker.addEventListener('error', openDirectly, { once: true, signal });
    listenTo(worker.port, notify, signal);
  }
  return () => closing.abort();
}

function listenTo(port: MessagePort, notify: (message: LiveMessage) => void, signal: AbortSignal): void {
  const attach = () => port.postMessage('attach', []);
  const detach = () => port.postMessage('detach', []);
  port.addEventListener('message', ({ data }: MessageEvent<LiveMessage>) => notify(data), { signal });
  port.start();
  attach();
  // A page restored from the back/forward cache listens again.
  addEventListener('pagehide', detach, { signal });
  addEventListener('pageshow', attach, { signal });
  signal.addEventListener('abort', detach, { once: true });
}

function take(event: StreamedEvent, stale: Set<string>): void {
  for (const key of staleBy(event)) stale.add(key);
  for (const listener of listeners) listener(event);
}
