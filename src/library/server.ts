// headworks: a whole server in your process. `headworks/client` calls its API.
import { startServer as start } from '../app/index.ts';
import { redisOptions, serverOptions } from '../app/options.ts';
import { resolveConfig } from '../config/index.ts';
import {
  checkInput,
  object,
  redisSettings,
  run,
  setting,
  settingNames,
  storeSettings,
  storeShape,
  variables,
} from './boundary.ts';

export { HeadworksError } from '../core/errors.ts';

/**
 * Settings of {@link startServer}. Everything else has its default; environment and configuration files are not read.
 *
 * @example const options: ServerOptions = { dataFolder: '.headworks', port: 8420 };
 */
export interface ServerOptions {
  /** Holds secrets, vaults and, without `databaseUrl`, the embedded store. Default: `.headworks`. */
  readonly dataFolder?: string;
  /** Default: 8420; 0 takes any free port. */
  readonly port?: number;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** A Postgres server instead of the embedded store. */
  readonly databaseUrl?: string;
  /** Shares slots and rate limits between servers. */
  readonly redisUrl?: string;
  /** Where the keys of AI providers and sources are. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * A running server.
 *
 * @example
 * const server: Server = await startServer({ port: 0 });
 * console.log(server.url);
 * await server.stop();
 */
export interface Server {
  readonly url: string;
  readonly adminToken: string;
  /** Drains requests and jobs and closes everything. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Starts a server with all capabilities, its HTTP API and the dashboard. Fails with an error with a stable `code`.
 *
 * @example
 * const server = await startServer({ dataFolder: '.headworks', port: 0 });
 * const response = await fetch(`${server.url}/readyz`);
 * await server.stop();
 */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const given = checkInput('startServer', serverInput, options);
  const values = {
    'data.folder': given.dataFolder,
    'server.port': given.port,
    'server.host': given.host,
    'state.databaseUrl': given.databaseUrl,
    'redis.url': given.redisUrl,
    'logging.level': 'silent',
  };
  const server = await run(names, () => {
    const config = resolveConfig({
      cwd: process.cwd(),
      file: null,
      overrides: {
        command: 'startServer',
        values: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)),
      },
    });
    return start(config, { role: 'serve', env: given.env ?? {} });
  });
  return { url: server.url, adminToken: server.adminToken, stop: () => run(names, () => server.stop()) };
}

const serverInput = object({
  ...storeShape,
  port: setting(serverOptions.fields.port),
  host: setting(serverOptions.fields.host),
  redisUrl: setting(redisOptions.fields.url),
  env: variables.optional(),
});

const names = {
  settings: {
    ...storeSettings,
    ...redisSettings,
    port: settingNames(serverOptions, 'port'),
    host: settingNames(serverOptions, 'host'),
  },
};
