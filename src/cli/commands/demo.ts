// headworks demo: Acme Retail, a company that does not exist, run through a real server on embedded stores.
import type { LoginLink } from '../../api/overview.ts';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { DemoMemory, DemoWorld } from '../../app/demo/index.ts';
import type { Config } from '../../config/index.ts';
import { HeadworksError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { addServerFlags } from '../option-flags.ts';
import type { RunningServer } from '../ports.ts';
import type { CliSession } from '../session.ts';
import { demoScreen } from './demo-screen.ts';
import type { DemoFacts } from './demo-welcome.ts';
import { thingsToTry, welcome } from './demo-welcome.ts';
import { noteBesideLogs, runServer } from './run-server.ts';

export function registerDemo(program: Command, host: CommandHost): void {
  const command = program
    .command('demo')
    .description('a company that does not exist: extracted, read, served, with dashboard; needs no keys')
    .option('--reset', 'delete what an earlier demo left in its folder, and start over')
    .addHelpText(
      'after',
      '\nA Looker and AI providers are simulated in this process; everything else is real. ' +
        'It lives in the folder "demo" of the data folder, and touches nothing else.',
    );
  addServerFlags(command);
  examples(command, ['headworks demo', 'headworks demo --reset', 'headworks demo --port 0 --json']);
  act<{ readonly reset?: boolean }>(host, command, async (session, { reset = false }) => {
    const config = demoConfig(session);
    if (reset) await startOver(session, config);
    try {
      return await runDemo(session, config);
    } catch (error) {
      if (!isDefaultPortTaken(error, config)) throw error;
      const { port } = config.server;
      noteBesideLogs(session, config, `Port ${port} is taken; the demo takes another one.`);
      return runDemo(session, demoConfig(session, { 'server.port': 0 }));
    }
  });
}

/**
 * Whatever is configured, the demo touches neither a server of yours nor the data folder itself, and asks nobody but
 * its simulators. Between rounds of failing models it does not wait as long as would be right for real ones.
 */
function demoConfig(session: CliSession, more: Readonly<Record<string, unknown>> = {}): Config {
  const insist = {
    'state.databaseUrl': null,
    'redis.url': null,
    'client.serverUrl': null,
    'extraction.sourcesFile': null,
    'gateway.models': [],
    'gateway.retryDelaySeconds': 1,
    'gateway.maxRetries': 1,
    'knowledge.embedder': 'none',
    'knowledge.graphBackend': 'sql',
    ...more,
  };
  const asked = session.config(insist);
  const isQuiet = asked.resolution.origins['logging.level']?.kind === 'default';
  return session.config({
    ...insist,
    'data.folder': join(asked.data.folder, 'demo'),
    // Its warnings are about what the demo breaks on purpose, and would run through the bars.
    ...(isQuiet ? { 'logging.level': 'error' } : {}),
  });
}

function isDefaultPortTaken(error: unknown, config: Config): boolean {
  const isDefault = config.resolution.origins['server.port']?.kind === 'default';
  return isDefault && error instanceof HeadworksError && error.code === 'PORT_UNAVAILABLE';
}

async function startOver({ out }: CliSession, { data }: Config): Promise<void> {
  const { deleteDemoFolder } = await import('../../app/demo/index.ts');
  const wasThere = await deleteDemoFolder(data.folder);
  if (wasThere) out.note(`What an earlier demo left in ${data.folder} is deleted.`);
}

async function runDemo(session: CliSession, config: Config): Promise<ExitCode> {
  const demo = await import('../../app/demo/index.ts');
  const memory = await demo.openDemoMemory(config.data.folder);
  // Before the server: jobs that an earlier demo left go on at once, and ask them.
  const world = await demo.startDemoWorld(memory);
  let facts: DemoFacts | null = null;
  try {
    return await runServer(session, {
      role: 'demo',
      config,
      env: demo.demoEnvironment,
      prepare: async (server) => {
        facts = await prepare(session, config, server, { memory, world });
        return jsonFacts(session, facts);
      },
      welcome: () => {
        if (facts) welcome(session, facts);
      },
    });
  } finally {
    await world.stop();
  }
}

async function prepare(
  session: CliSession,
  config: Config,
  server: RunningServer,
  { memory, world }: { readonly memory: DemoMemory; readonly world: DemoWorld },
): Promise<DemoFacts> {
  const { runChapters, lookAround, brightline, steadyModel, readByRulesKind } =
    await import('../../app/demo/index.ts');
  const { io } = session;
  const { signal, clock } = io;
  const client = await io.app.connect(config, {
    purpose: 'headworks demo',
    signal,
    onWaitingForOthers: () => undefined,
  });
  const screen = demoScreen(session);
  try {
    const dataFolder = config.data.folder;
    const { keys } = await runChapters({ client, world, dataFolder, memory, clock, signal, screen });
    const situation = await lookAround({ client, signal });
    const link = await client.call<LoginLink>('POST', '/api/v1/dashboard/login-links', { signal });
    const url = String(server.url);
    const organization = brightline.name;
    const key = keys[organization] ?? '';
    const loginUrl = url + link.path;
    return { url, loginUrl, dataFolder, organization, key, steadyModel, readByRulesKind, situation };
  } finally {
    screen.close();
    await client.close();
  }
}

function jsonFacts({ io }: CliSession, facts: DemoFacts): object {
  const { loginUrl, organization, key } = facts;
  return { login_url: loginUrl, organization, api_key: key, try: thingsToTry(io, facts) };
}
