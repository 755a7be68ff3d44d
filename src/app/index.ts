// The composition root: what the command line and programs that embed Headworks start from. Loads no store by itself.
import type { Config } from '../config/index.ts';
import type { RunningServer, StartServerOptions } from './start-server.ts';

export { connect } from './connect.ts';
export type { ConnectOptions } from './connect.ts';
export type { CallOptions, HeadworksClient, StreamedEvent } from './headworks-client.ts';
export type { ServerRole } from './server-role.ts';
export type { RunningServer, StartServerOptions } from './start-server.ts';
export { version } from '../config/version.ts';

/** Starts a server in this process; see `start-server.ts`. Loaded when called: most commands never need it. */
export async function startServer(config: Config, options: StartServerOptions): Promise<RunningServer> {
  const module = await import('./start-server.ts');
  return module.startServer(config, options);
}
