// headworks demo: a guided tour with sample data.
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { LoginLink } from '../../api/overview.ts';
import type { DemoMemory, DemoWorld, Situation } from '../../app/demo/index.ts';
import type { Config } from '../../config/index.ts';
import { HeadworksError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { counted } from '../output.ts';
import type { CliIo, RunningServer } from '../ports.ts';
import type { CliSession } from '../session.ts';
import { addServerFlags, folderWord, invocation } from '../session.ts';
import { demoScreen } from './demo-screen.ts';
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

export interface DemoFacts {
  readonly url: string;
  /** Logs a browser in, once. */
  readonly loginUrl: string;
  readonly dataFolder: string;
  readonly organization: string;
  readonly key: string;
  readonly steadyModel: string;
  /** Of rows in the ledger. */
  readonly readByRulesKind: string;
  /** As it is now: after a first look around it may be another. */
  readonly situation: Situation;
}

export interface ThingToTry {
  readonly what: string;
  readonly command: string;
}

export function thingsToTry(io: CliIo, facts: DemoFacts): readonly ThingToTry[] {
  const headworks = (words: string) =>
    `${invocation(io)} ${words} --data-dir ${folderWord(io, facts.dataFolder)}`;
  return [
    {
      what: 'Who decided which revenue counts, who objected, and what else did they promise?',
      command: headworks('search "who decided that net revenue is the one definition" --expand --limit 3'),
    },
    {
      what: 'Which revenue is the official one? Two dashboards contradict each other.',
      command: headworks('search "official revenue" --type doc --entities --limit 4'),
    },
    { what: pairsInWords(facts.situation), command: headworks('entities review --list') },
    beTheTenant(facts),
    readAgain(facts, headworks),
  ];
}

function pairsInWords({ pairs, hasMorePairs, isOkaforOpen }: Situation): string {
  if (isOkaforOpen) return 'Is S. Okafor Sam or Sara? Nobody guessed: the pairs wait for you.';
  if (pairs === 0)
    return 'Who is who? Every pair of names that was in doubt is answered; new ones would be here.';
  const many = hasMorePairs ? `${pairs} pairs or more` : counted(pairs, 'pair');
  return `Do they mean the same? ${many} of names still ${pairs === 1 ? 'waits' : 'wait'} for you.`;
}

function beTheTenant({ url, organization, key, situation: { limit } }: DemoFacts): ThingToTry {
  const allowed = limit === null ? '' : ` It may have ${limit} under way.`;
  return {
    what: `Be the tenant ${organization}: three requests at once.${allowed}`,
    command:
      `for store in Graz Basel Leeds; do curl -s -w ' %{http_code}\\n' --oauth2-bearer ${key} ` +
      `--json "{\\"text\\": \\"$store\\"}" ${url}/deployment/api/${organization}/summarize & done; wait`,
  };
}

function readAgain(
  { situation: { readByRules }, steadyModel, readByRulesKind }: DemoFacts,
  headworks: (words: string) => string,
): ThingToTry {
  if (readByRules === 0)
    return {
      what: 'Whatever rules had to read, a model has read since. What else is not as it should be?',
      command: headworks('ledger list'),
    };
  const [passages, them] = [counted(readByRules, 'passage'), readByRules === 1 ? 'it' : 'them'];
  return {
    what: `Models were at their limits, so rules read ${passages}. Let a model read ${them} again.`,
    command: `${headworks(`models clear-cooldown ${steadyModel}`)} && ${headworks(`repair --kind ${readByRulesKind}`)}`,
  };
}

export function welcome({ io, out }: CliSession, facts: DemoFacts): void {
  out.line();
  out.line(
    `Headworks ${io.version}: the demo is ready. Acme Retail does not exist; what you see did happen, in embedded stores.`,
  );
  out.line();
  out.facts([
    ['dashboard', facts.loginUrl],
    [
      '',
      `the link logs in once; another one: ${invocation(io)} dashboard --data-dir ${folderWord(io, facts.dataFolder)}`,
    ],
    ['API', `${facts.url}/docs`],
    ['API key', `${facts.key} (organization ${facts.organization})`],
    ['data', facts.dataFolder],
    [
      '',
      `to start over: ${invocation(io)} demo --reset --data-dir ${folderWord(io, dirname(facts.dataFolder))}`,
    ],
  ]);
  out.line();
  out.line('Try, in another terminal:');
  for (const [index, { what, command }] of thingsToTry(io, facts).entries()) {
    out.line(`  ${index + 1}. ${what}`);
    out.line(`     ${out.style('cyan', command)}`);
  }
  out.line();
  out.line('Ctrl-C stops it, simulators included. The next start goes on with what is there.');
}
