// Ends a connection without asking the server, which may not be listening any more.
import type { ClientBase } from 'pg';
import type { Duplex } from 'node:stream';

/** Whoever waits for an answer on it gets an error. pg has no public way to do this: `end()` waits for the server. */
export function cutConnection(client: ClientBase): void {
  (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream.destroy();
}
