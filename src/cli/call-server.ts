// One call to the server: most commands make no more.
import type { CallOptions } from '../app/client/session.ts';
import type { CliSession } from './session.ts';

export function callServer<T>(
  session: CliSession,
  method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  options: Omit<CallOptions, 'signal'> = {},
): Promise<T> {
  const { signal } = session.io;
  return session.withClient((client) => client.call<T>(method, path, { ...options, signal }));
}
