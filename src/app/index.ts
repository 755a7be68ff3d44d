// Entry points for the command line and programs that embed Headworks. Importing it loads no store.
import type { Config } from '../config/index.ts';
import type { RunningServer, StartServerOptions } from './start.ts';

export { connect } from './client/connect.ts';
export type { ConnectOptions } from './client/connect.ts';
export type { CallOptions, HeadworksClient, StreamedEvent } from './client/session.ts';
export type { ServerRole } from './client/local-server.ts';
export type { RunningServer, StartServerOptions } from './start.ts';
export { version } from '../config/version.ts';

/** Starts a server in this process; see `start.ts`. Imported when called: most commands never need it. */
export async function startServer(config: Config, options: StartServerOptions): Promise<RunningServer> {
  const module = await import('./start.ts');
  return module.startServer(config, options);
}
