// The package itself: Headworks as a library. Its parts have sub-paths of their own (`headworks/resilience`, …).
export { connect, startServer, version } from './app/index.ts';
export type { ConnectOptions, HeadworksClient, RunningServer, StartServerOptions } from './app/index.ts';
export { loadConfigFromProcess, resolveConfig } from './config/index.ts';
export type { Config } from './config/index.ts';
export { CoreError, HeadworksError } from './core/index.ts';
