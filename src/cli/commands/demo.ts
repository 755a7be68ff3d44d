// headworks demo: start a server with sample data.
import { dirname, join } from 'node:path';
import { callApi } from '../../api/client.ts';
import type { Config } from '../../config/index.ts';
import { HeadworksError } from '../../core/index.ts';
import type { DemoState, DocumentSources, Situation, Upstreams } from '../../operations/demo/index.ts';
import type { CliCommand } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { counted } from '../output.ts';
import type { CliIo, RunningServer } from '../io.ts';
import type { CliSession } from '../session.ts';
import { addServerFlags, folderArgument, invocation } from '../session.ts';
import { demoProgress } from './demo-progress.ts';
import { noteBesideLogs, runServer } from './serve.ts';

export function register(command: CliCommand): void {
  command
    .option('--reset', 'delete the data of an earlier demo and start over')
    .addHelpText(
      'after',
      '\nA Looker and AI providers are simulated in this process; everything else is real. ' +
        'The data is in the folder "demo" of the data folder; nothing else is changed.',
    );
  addServerFlags(command);
  command.examples(['headworks demo', 'headworks demo --reset', 'headworks demo --port 0 --json']);
  command.run<{ readonly reset?: boolean }>(async (session, { reset = false }) => {
    const config = demoConfig(session);
    if (reset) await startOver(session, config);
    try {
      return await runDemo(session, config);
    } catch (error) {
      if (!isDefaultPortTaken(error, config)) throw error;
      const { port } = config.server;
      noteBesideLogs(session, config, `Port ${port} is in use; the demo uses another one.`);
      return runDemo(session, demoConfig(session, { 'server.port': 0 }));
    }
  });
}

/**
 * Whatever is configured, the demo uses embedded stores in a folder of its own and calls only its simulators. The delay
 * between rounds of failing models is shorter than for real ones.
 */
function demoConfig(session: CliSession, more: Readonly<Record<string, unknown>> = {}): Config {
  const overrides = {
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
  const configured = session.config(overrides);
  const isQuiet = configured.resolution.origins['logging.level']?.kind === 'default';
  return session.config({
    ...overrides,
    'data.folder': join(configured.data.folder, 'demo'),
    // Warnings are about failures that the demo causes on purpose, and would disturb the progress bars.
    ...(isQuiet ? { 'logging.level': 'error' } : {}),
  });
}

function isDefaultPortTaken(error: unknown, config: Config): boolean {
  const isDefault = config.resolution.origins['server.port']?.kind === 'default';
  return isDefault && error instanceof HeadworksError && error.code === 'PORT_UNAVAILABLE';
}

async function startOver({ out }: CliSession, { data }: Config): Promise<void> {
  const { deleteDemoFolder } = await import('../../operations/demo/index.ts');
  const wasDeleted = await deleteDemoFolder(data.folder);
  if (wasDeleted) out.note(`Deleted the data of an earlier demo in ${data.folder}.`);
}

async function runDemo(session: CliSession, config: Config): Promise<ExitCode> {
  const demo = await import('../../operations/demo/index.ts');
  const state = await demo.openDemoState(config.data.folder);
  // Started before the server: interrupted jobs of an earlier demo continue at once and call the simulators.
  const upstreams = await demo.startUpstreams(state);
  let facts: DemoFacts | null = null;
  try {
    return await runServer(session, {
      role: 'demo',
      config,
      env: demo.demoEnvironment,
      prepare: async (server) => {
        facts = await prepare(session, config, server, { state, upstreams });
        return jsonFacts(session, facts);
      },
      printReady: () => {
        if (facts) printReady(session, facts);
      },
    });
  } finally {
    await upstreams.stop();
  }
}

async function prepare(
  session: CliSession,
  config: Config,
  server: RunningServer,
  { state, upstreams }: { readonly state: DemoState; readonly upstreams: Upstreams },
): Promise<DemoFacts> {
  const { runDemo, readSituation, brightline, reliableModel, readByRulesKind } =
    await import('../../operations/demo/index.ts');
  const { io } = session;
  const { signal, clock } = io;
  const client = await io.app.connect(config, { purpose: 'headworks demo', signal });
  const reporter = demoProgress(session);
  try {
    const dataFolder = config.data.folder;
    const documents = await documentSources();
    const { keys } = await runDemo({
      client,
      documents,
      upstreams,
      dataFolder,
      state,
      clock,
      signal,
      reporter,
    });
    const situation = await readSituation({ client, signal });
    const link = await callApi(client, 'POST /api/v1/dashboard/login-links');
    const { url } = server;
    const organization = brightline.name;
    const key = keys[organization] ?? '';
    const loginUrl = url + link.path;
    return { url, loginUrl, dataFolder, organization, key, reliableModel, readByRulesKind, situation };
  } finally {
    reporter.close();
    await client.close();
  }
}

const maxDocumentBytes = 1_000_000;

/** Documents are read as by `headworks ingest`. */
async function documentSources(): Promise<DocumentSources> {
  const { documentPaths, documentsOfVault, fileDocument } = await import('../../app/ingest-documents.ts');
  const { typeOfItem } = await import('../../extraction/vault/index.ts');
  return {
    ofFolder: async function* (folder) {
      for await (const { path } of documentPaths(folder, '/'))
        yield { path, file: (await fileDocument(path, maxDocumentBytes)).file };
    },
    ofVault: async function* (file, dataFolder) {
      for await (const body of documentsOfVault({ file, cwd: dataFolder, dataFolder }))
        yield { type: typeOfItem(body.source_id), body };
    },
  };
}

function jsonFacts({ io }: CliSession, facts: DemoFacts): object {
  const { loginUrl, organization, key } = facts;
  return { login_url: loginUrl, organization, api_key: key, try: suggestions(io, facts) };
}

export interface DemoFacts {
  readonly url: string;
  /** A one-time login link. */
  readonly loginUrl: string;
  readonly dataFolder: string;
  readonly organization: string;
  readonly key: string;
  readonly reliableModel: string;
  /** Ledger kind. */
  readonly readByRulesKind: string;
  /** The current state: the user may have changed it since the first start. */
  readonly situation: Situation;
}

export interface Suggestion {
  readonly what: string;
  readonly command: string;
}

export function suggestions(io: CliIo, facts: DemoFacts): readonly Suggestion[] {
  const headworks = (words: string) =>
    `${invocation(io)} ${words} --data-dir ${folderArgument(io, facts.dataFolder)}`;
  return [
    {
      what: 'Who decided which revenue counts, who objected, and what else was agreed?',
      command: headworks(
        'search "who decided that net revenue is the one definition" --graph-expand --limit 3',
      ),
    },
    {
      what: 'Which revenue is the official one? Two dashboards contradict each other.',
      command: headworks('search "official revenue" --types doc --include-entities --limit 4'),
    },
    { what: pairsInWords(facts.situation), command: headworks('entities review --list') },
    sendAsTenant(facts),
    readAgain(facts, headworks),
  ];
}

function pairsInWords({ pairs, hasMorePairs, isOkaforOpen }: Situation): string {
  if (isOkaforOpen) return 'Is S. Okafor Sam or Sara? Undecided pairs are in the review queue.';
  if (pairs === 0) return 'The review queue of names is empty; new pairs appear here.';
  const many = hasMorePairs ? `${pairs} pairs or more` : counted(pairs, 'pair');
  return `Do two names mean the same person? ${many} of names in the review queue.`;
}

function sendAsTenant({ url, organization, key, situation: { limit } }: DemoFacts): Suggestion {
  const allowed = limit === null ? '' : ` Its limit is ${limit}.`;
  return {
    what: `Send three requests at once as ${organization}.${allowed}`,
    command:
      `for store in Graz Basel Leeds; do curl -s -w ' %{http_code}\\n' --oauth2-bearer ${key} ` +
      `--json "{\\"text\\": \\"$store\\"}" ${url}/deployment/api/${organization}/summarize & done; wait`,
  };
}

function readAgain(
  { situation: { readByRules }, reliableModel, readByRulesKind }: DemoFacts,
  headworks: (words: string) => string,
): Suggestion {
  if (readByRules === 0)
    return {
      what: 'Models have read every passage that rules had read. What else is degraded?',
      command: headworks('ledger list'),
    };
  const [passages, them] = [counted(readByRules, 'passage'), readByRules === 1 ? 'it' : 'them'];
  return {
    what: `Models were rate-limited, so rules read ${passages}. Let a model read ${them} again.`,
    command: `${headworks(`models clear-cooldown ${reliableModel}`)} && ${headworks(`repair --kind ${readByRulesKind}`)}`,
  };
}

export function printReady({ io, out }: CliSession, facts: DemoFacts): void {
  out.line();
  out.line(
    `Headworks ${io.version}: the demo is ready. Acme Retail is fictional; the data was processed by this server.`,
  );
  out.line();
  out.facts([
    ['dashboard', facts.loginUrl],
    [
      '',
      `the link works once; get another: ${invocation(io)} dashboard --data-dir ${folderArgument(io, facts.dataFolder)}`,
    ],
    ['API', `${facts.url}/docs`],
    ['API key', `${facts.key} (organization ${facts.organization})`],
    ['data', facts.dataFolder],
    [
      '',
      `to start over: ${invocation(io)} demo --reset --data-dir ${folderArgument(io, dirname(facts.dataFolder))}`,
    ],
  ]);
  out.line();
  out.line('Try, in another terminal:');
  for (const [index, { what, command }] of suggestions(io, facts).entries()) {
    out.line(`  ${index + 1}. ${what}`);
    out.line(`     ${out.style('cyan', command)}`);
  }
  out.line();
  out.line('Ctrl-C stops the server and the simulators. The next start continues with the existing data.');
}
