// A complete server in this process, on stores of its own.
import { onTestFinished } from 'vitest';
import { startServer } from '../../src/app/start.ts';
import type { RunningServer } from '../../src/app/index.ts';
import type { Config } from '../../src/config/index.ts';
import { resolveConfig } from '../../src/config/index.ts';
import { databaseUrl, temporaryFolder, uniqueName } from './services.ts';

/**
 * A data folder of its own, a schema of its own on the test server, quiet logs; `env` adds to that. Outside of a test
 * pass a `folder`, and remove it yourself.
 */
export async function testConfig(
  env: Readonly<Record<string, string>> = {},
  folder?: string,
): Promise<Config> {
  return resolveConfig({
    flags: {},
    cwd: folder ?? (await temporaryFolder()),
    env: {
      DATABASE_URL: databaseUrl(),
      HEADWORKS_DATABASE_SCHEMA: uniqueName('app'),
      HEADWORKS_LOG_LEVEL: 'silent',
      HEADWORKS_PORT: '0',
      HEADWORKS_DRAIN_SECONDS: '1',
      HEADWORKS_JOBS_DRAIN_SECONDS: '1',
      // Tests with keys of real providers must not call them.
      HEADWORKS_GATEWAY_DISCOVERY_INTERVAL_HOURS: '0',
      ...env,
    },
  });
}

/** Stops with the test. */
export async function startTestServer(config: Config): Promise<RunningServer> {
  const server = await startServer(config, { role: 'serve' });
  onTestFinished(() => server.stop());
  return server;
}

/** Calls it as admin; returns status, headers and parsed body. */
export async function callAsAdmin(
  server: Pick<RunningServer, 'url' | 'adminToken'>,
  method: string,
  path: string,
  body?: unknown,
) {
  const answer = await fetch(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${server.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: (text ? JSON.parse(text) : null) as never };
}
