// headworks: a whole server in your process. `headworks/client` calls its API.
import { startServer as start } from '../app/index.ts';
import { resolveConfig } from '../config/index.ts';

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
  const values = {
    'data.folder': options.dataFolder,
    'server.port': options.port,
    'server.host': options.host,
    'state.databaseUrl': options.databaseUrl,
    'redis.url': options.redisUrl,
    'logging.level': 'silent',
  };
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const config = resolveConfig({
    cwd: process.cwd(),
    overrides: { command: 'startServer', values: Object.fromEntries(given) },
  });
  const server = await start(config, { role: 'serve', env: options.env ?? {} });
  return { url: server.url, adminToken: server.adminToken, stop: () => server.stop() };
}
