// The live stream of the server: whether it is connected, and which data its events make stale.
import type { QueryClient } from '@tanstack/react-query';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { StreamedEventData } from '../../../src/http/contract.ts';
import { readEventStream } from './event-stream.ts';

export type Connection = 'connecting' | 'live' | 'lost';

/** The beginning of an event's name, and the first words of the query keys whose data it changes. */
const staleBy: readonly (readonly [string, readonly string[]])[] = [
  ['extraction:', ['extraction', 'flow']],
  ['gateway:', ['models', 'flow']],
  ['admission:', ['tenants', 'flow', 'alerts']],
  ['deployments:', ['tenants', 'flow']],
  ['ledger:', ['ledger', 'alerts', 'flow']],
  ['job:', ['jobs', 'knowledge', 'flow']],
  ['dependency:', ['flow', 'alerts']],
];
const refreshEveryMs = 1_000;
const connectAgainMs = 2_000;

export type LiveListener = (event: StreamedEventData) => void;
const listeners = new Set<LiveListener>();

/** Calls back with every live event while mounted. Give it a function that stays the same. */
export function useLiveEvents(listener: LiveListener): void {
  useEffect(() => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [listener]);
}

/** Keeps one stream open. Once per page: in the shell. */
export function useLiveConnection(): Connection {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => {
    const closing = new AbortController();
    const stale = new Set<string>();
    const timer = setInterval(() => {
      for (const key of stale) void client.invalidateQueries({ queryKey: [key] });
      stale.clear();
    }, refreshEveryMs);
    void stayConnected(client, stale, setConnection, closing.signal);
    return () => {
      clearInterval(timer);
      closing.abort();
    };
  }, [client]);
  return connection;
}

async function stayConnected(
  client: QueryClient,
  stale: Set<string>,
  tell: (connection: Connection) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const onOpen = (): void => {
      tell('live');
      // Whatever happened while nobody listened was missed.
      if (tries > 0) void client.invalidateQueries();
    };
    try {
      for await (const { event, data } of readEventStream('/api/v1/events', signal, onOpen))
        if (!event.startsWith('stream:')) take(JSON.parse(data) as StreamedEventData, stale);
    } catch {
      // Said below, whatever it was.
    }
    if (signal.aborted) return;
    tell('lost');
    // A session that has ended shows here: nobody else asks while nothing happens.
    void client.invalidateQueries({ queryKey: ['alerts'] });
    await new Promise((resolve) => setTimeout(resolve, connectAgainMs));
  }
}

function take(event: StreamedEventData, stale: Set<string>): void {
  for (const [prefix, keys] of staleBy)
    if (event.name.startsWith(prefix)) for (const key of keys) stale.add(key);
  for (const listener of listeners) listener(event);
}
