// The command line program: its commands, how one is run and how it ends.
import { Command, CommanderError } from 'commander';
import { nearest } from '../core/index.ts';
import type { CliContext, CommandModule } from './command.ts';
import { examples } from './command.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodeMeanings, exitCodes } from './exit-codes.ts';
import type { CliIo } from './io.ts';
import { UsageError, reportError } from './report-error.ts';
import { addGlobalFlags, commandName } from './session.ts';

/** The module is imported only when the command is called. */
type CommandEntry = readonly [description: string, load: () => Promise<CommandModule>];

/** Every command by name, in the groups and in the order of `headworks --help`. */
const commandGroups: Readonly<Record<string, Readonly<Record<string, CommandEntry>>>> = {
  'Server:': {
    demo: [
      'run a demo with sample data and the dashboard; needs no keys',
      () => import('./commands/demo.ts'),
    ],
    serve: ['run the server: HTTP API, dashboard, background jobs', () => import('./commands/serve.ts')],
    worker: ['run background jobs only, on an additional machine', () => import('./commands/worker.ts')],
    dashboard: [
      'print a link that logs a browser in to the dashboard',
      () => import('./commands/dashboard.ts'),
    ],
    doctor: [
      'check configuration, stores and services; print a remedy for every problem',
      () => import('./commands/doctor.ts'),
    ],
    config: ['show every setting with its value and source', () => import('./commands/config.ts')],
  },
  'Extraction (rate-limited APIs):': {
    extract: ['extract a source into a vault within its rate limits', () => import('./commands/extract.ts')],
    sources: [
      'manage sources that the server extracts on a schedule or on demand',
      () => import('./commands/sources.ts'),
    ],
    vault: ['list, verify, compare, export and prune extracted items', () => import('./commands/vault.ts')],
  },
  'AI gateway:': {
    prompt: ['send a prompt to the best available model', () => import('./commands/prompt.ts')],
    models: ['manage models, their cooldowns and scores', () => import('./commands/models.ts')],
    keys: ['manage gateway keys and show their usage', () => import('./commands/keys.ts')],
  },
  'Organizations (multi-tenancy):': {
    organizations: ['manage organizations and their API keys', () => import('./commands/organizations.ts')],
    deployments: ['publish workflows to organizations', () => import('./commands/deployments.ts')],
    limits: ['manage concurrency limits of organizations', () => import('./commands/limits.ts')],
    executions: ['list and stop executions of deployments', () => import('./commands/executions.ts')],
  },
  'Knowledge:': {
    ingest: [
      'ingest documents: text, Markdown, HTML, PDF, DOCX, EML, JSON, vault items',
      () => import('./commands/ingest.ts'),
    ],
    search: ['search documents by words, vectors and the graph', () => import('./commands/search.ts')],
    artifacts: ['manage ingested documents', () => import('./commands/artifacts.ts')],
    entities: [
      'list, merge, split and review entities: people and things mentioned in documents',
      () => import('./commands/entities.ts'),
    ],
    events: ['list events extracted from documents', () => import('./commands/events.ts')],
    graph: ['show and rebuild the graph of entities and events', () => import('./commands/graph.ts')],
    spaces: [
      'manage knowledge spaces, which are isolated from each other',
      () => import('./commands/spaces.ts'),
    ],
    folders: ['manage folders that the server ingests repeatedly', () => import('./commands/folders.ts')],
    mcp: ['run an MCP server on standard input and output', () => import('./commands/mcp.ts')],
  },
  'Operations:': {
    jobs: ['list, watch, retry and cancel background jobs', () => import('./commands/jobs.ts')],
    ledger: [
      'list operations that were degraded or skipped, and resolve them',
      () => import('./commands/ledger.ts'),
    ],
    repair: ['repair open ledger entries and wait for the result', () => import('./commands/repair.ts')],
    backup: ['write a backup of the whole server into one file', () => import('./commands/backup.ts')],
    restore: ['restore a backup into the configured store', () => import('./commands/restore.ts')],
    'migrate-store': [
      'copy the embedded store to a Postgres server',
      () => import('./commands/migrate-store.ts'),
    ],
    simulate: ['run simulators of Looker and AI providers for tests', () => import('./commands/simulate.ts')],
  },
};

const entries = Object.values(commandGroups).flatMap((group) => Object.entries(group));

/** Builds the program with the options and subcommands of the named commands (default: of all); runs nothing. */
export async function buildProgram(
  io: CliIo,
  context: CliContext,
  names: readonly string[] = entries.map(([name]) => name),
): Promise<Command> {
  const program = newProgram(io);
  for (const [heading, group] of Object.entries(commandGroups)) {
    program.commandsGroup(heading);
    for (const [name, [description, load]] of Object.entries(group)) {
      const command = program.command(name).description(description);
      if (!names.includes(name)) continue;
      const module = await load();
      module.register(command, context);
      noteInvalid(command, context);
    }
  }
  program.commandsGroup('Help:').helpCommand('help [command]', 'display help for a command');
  examples(program, ['headworks demo', 'headworks serve --port 8420', 'headworks doctor --json']);
  program.addHelpText('after', `\nExit codes:\n${exitCodeHelp()}`);
  return program;
}

function newProgram(io: CliIo): Command {
  const program = new Command('headworks')
    .description(
      'Extract from rate-limited APIs, route AI models, search documents, serve tenants within exact limits.',
    )
    .version(io.version)
    .option('--config <file>', 'configuration file (HEADWORKS_CONFIG; default: headworks.yaml if it exists)')
    .option('--json', 'print JSON: one document, or one object per line for streams')
    .option('--no-color', 'disable colors (also NO_COLOR)')
    .configureHelp({ showGlobalOptions: true })
    // Errors are printed by reportError, once.
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: () => undefined,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      getOutHelpWidth: () => io.columns ?? 100,
      getErrHelpWidth: () => io.columns ?? 100,
    })
    .exitOverride();
  addGlobalFlags(program);
  return program;
}

/** An error of commander does not name its command. */
function noteInvalid(command: Command, context: CliContext): void {
  command.exitOverride((error) => {
    context.invalidCommand = commandName(command);
    throw error;
  });
  for (const each of command.commands) noteInvalid(each, context);
}

function exitCodeHelp(): string {
  return Object.entries(exitCodes)
    .map(([name, code]) => `  ${String(code).padEnd(5)}${exitCodeMeanings[name as keyof typeof exitCodes]}`)
    .join('\n');
}

/** `args` without the interpreter and the script. */
export async function runCli(args: readonly string[], io: CliIo): Promise<ExitCode> {
  const context: CliContext = { io, session: null, exitCode: exitCodes.ok };
  // A command can only be named by one of these words, which need not be the first: --data-dir DIR jobs.
  const named = entries.map(([name]) => name).filter((name) => args.includes(name));
  const program = await buildProgram(io, context, named);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.ok;
      // The help was printed because no command was named.
      if (error.code === 'commander.help') return exitCodes.usage;
    }
    const { session, invalidCommand: command = '' } = context;
    const isJson = session?.out.isJson ?? args.includes('--json');
    return reportError(clarify(error, program, args), io, { isJson, session, command });
  }
}

/** `headworks ledger lst`: commander takes "lst" for an argument of the default command and cannot suggest. */
function clarify(error: unknown, program: Command, args: readonly string[]): unknown {
  if (!(error instanceof CommanderError) || error.code !== 'commander.excessArguments') return error;
  const words = args.filter((word) => !word.startsWith('-'));
  for (const group of program.commands) {
    const typed = words[words.indexOf(group.name()) + 1];
    const names = group.commands.map((command) => command.name());
    if (names.length === 0 || !words.includes(group.name()) || typed === undefined || names.includes(typed))
      continue;
    const meant = nearest(typed, names);
    return new UsageError(
      `unknown command "${group.name()} ${typed}"; ` +
        (meant === undefined ? `there are ${names.join(', ')}.` : `did you mean "${group.name()} ${meant}"?`),
    );
  }
  return error;
}
