// The command line program: its commands, how one is run and how it ends.
import { CommanderError } from 'commander';
import { HeadworksError, messageOf, nearest, Redactor } from '../core/index.ts';
import type { CliContext, Register } from './command.ts';
import { CliCommand } from './command.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodeMeanings, exitCodeOf, exitCodes, UsageError } from './exit-codes.ts';
import type { CliIo } from './io.ts';
import { Interrupt } from './io.ts';
import { printable } from './output.ts';
import type { CliSession } from './session.ts';
import { addGlobalFlags, commandName } from './session.ts';

/** The module is imported only when the command is called. */
type CommandEntry = readonly [description: string, load: () => Promise<CommandModule>];

/** Registers one command, or several by name. */
type CommandModule =
  | { readonly register: Register }
  | { readonly commands: Readonly<Record<string, Register>> };

/** Every command by name, in the groups and in the order of `headworks --help`. */
const commandGroups: Readonly<Record<string, Readonly<Record<string, CommandEntry>>>> = {
  'Server:': {
    demo: [
      'run a demo with sample data and the dashboard; needs no keys',
      () => import('./commands/demo.ts'),
    ],
    serve: ['run the server: HTTP API, dashboard, background jobs', () => import('./commands/serve.ts')],
    worker: ['run background jobs only, on an additional machine', () => import('./commands/serve.ts')],
    dashboard: ['print a link that logs a browser in to the dashboard', () => import('./commands/serve.ts')],
    doctor: [
      'check configuration, stores and services; print a remedy for every problem',
      () => import('./commands/doctor.ts'),
    ],
    config: ['show every setting with its value and source', () => import('./commands/doctor.ts')],
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
    keys: [
      'manage gateway keys and their limits, and show usage and cost',
      () => import('./commands/keys.ts'),
    ],
    requests: [
      'list requests to models with their attempts and cost',
      () => import('./commands/requests.ts'),
    ],
  },
  'Organizations (multi-tenancy):': {
    organizations: ['manage organizations and their API keys', () => import('./commands/organizations.ts')],
    deployments: ['publish workflows to organizations', () => import('./commands/deployments.ts')],
    limits: ['manage concurrency limits of organizations', () => import('./commands/limits.ts')],
    executions: ['list and cancel executions of deployments', () => import('./commands/deployments.ts')],
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
    graph: ['show and rebuild the graph of entities and events', () => import('./commands/events.ts')],
    spaces: [
      'manage knowledge spaces, which are isolated from each other',
      () => import('./commands/spaces.ts'),
    ],
    folders: ['manage folders that the server ingests repeatedly', () => import('./commands/spaces.ts')],
    mcp: ['run an MCP server on standard input and output', () => import('./commands/mcp.ts')],
  },
  'Operations:': {
    jobs: ['list, watch, retry and cancel background jobs', () => import('./commands/jobs.ts')],
    ledger: [
      'list operations that were degraded or skipped, and resolve them',
      () => import('./commands/ledger.ts'),
    ],
    repair: ['repair open ledger entries and wait for the result', () => import('./commands/ledger.ts')],
    backup: ['write a backup of the whole server into one file', () => import('./commands/backup.ts')],
    restore: ['restore a backup into the configured store', () => import('./commands/backup.ts')],
    'migrate-store': ['copy the embedded store to a Postgres server', () => import('./commands/backup.ts')],
    simulate: ['run simulators of Looker and AI providers for tests', () => import('./commands/simulate.ts')],
  },
};

const entries = Object.values(commandGroups).flatMap((group) => Object.entries(group));

/** Builds the program with the options and subcommands of the named commands (default: of all); runs nothing. */
export async function buildProgram(
  context: CliContext,
  names: readonly string[] = entries.map(([name]) => name),
): Promise<CliCommand> {
  const program = newProgram(context);
  for (const [heading, group] of Object.entries(commandGroups)) {
    program.commandsGroup(heading);
    for (const [name, [description, load]] of Object.entries(group)) {
      const command = program.command(name).description(description);
      if (!names.includes(name)) continue;
      const module = await load();
      if ('register' in module) module.register(command);
      else module.commands[name]?.(command);
      noteInvalid(command);
    }
  }
  program.commandsGroup('Help:').helpCommand('help [command]', 'display help for a command');
  program.examples(['headworks demo', 'headworks serve --port 8420', 'headworks doctor --json']);
  program.addHelpText('after', `\nExit codes:\n${exitCodeHelp()}`);
  program.addHelpText('afterAll', ({ command }) => exampleHelp(command as CliCommand));
  return program;
}

function newProgram(context: CliContext): CliCommand {
  const { io } = context;
  const program = new CliCommand(context, 'headworks')
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
function noteInvalid(command: CliCommand): void {
  command.exitOverride((error) => {
    command.context.invalidCommand = command;
    throw error;
  });
  for (const each of command.commands) noteInvalid(each as CliCommand);
}

function exampleHelp({ shownExamples: lines }: CliCommand): string {
  const title = lines.length === 1 ? 'Example' : 'Examples';
  return `\n${title}:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
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
  const program = await buildProgram(context, named);
  try {
    // The help command of commander ignores the names of subcommands.
    const words = args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : [...args];
    await program.parseAsync(words, { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.ok;
      // The help was printed because no command was named.
      if (error.code === 'commander.help') return exitCodes.usage;
    }
    const clear = clarify(error, program, args);
    const { session, invalidCommand: command } = context;
    const isJson = session?.out.isJson ?? args.includes('--json');
    return reportError(clear, io, { isJson, session, command });
  }
}

/** `headworks ledger lst`: commander takes "lst" for an argument of the default command and cannot suggest. */
function clarify(error: unknown, program: CliCommand, args: readonly string[]): unknown {
  if (!(error instanceof CommanderError) || error.code !== 'commander.excessArguments') return error;
  const words = args.filter((word) => !word.startsWith('-'));
  for (const group of program.commands) {
    const typed = words[words.indexOf(group.name()) + 1];
    const names = group.commands.map((command) => command.name());
    if (names.length === 0 || !words.includes(group.name()) || typed === undefined || names.includes(typed))
      continue;
    program.context.invalidCommand = group as CliCommand;
    const meant = nearest(typed, names);
    return new UsageError(
      `There is no command "${group.name()} ${typed}". ` +
        (meant === undefined ? `Commands: ${names.join(', ')}.` : `Did you mean "${group.name()} ${meant}"?`),
    );
  }
  return error;
}

interface ErrorContext {
  readonly isJson: boolean;
  /** `null` when the command line could not even be read. */
  readonly session: CliSession | null;
  /** Whose arguments could not be read; absent for the program itself. */
  readonly command?: CliCommand;
}

/**
 * Writes the error to stderr, without any secret: one line with what happened and what to do, JSON with --json, a stack
 * only at debug level. Returns the exit code.
 */
function reportError(thrown: unknown, io: CliIo, context: ErrorContext): ExitCode {
  if (isInterrupt(thrown, io)) return exitCodes.interrupted;
  const { code, message, exitCode, isList = false } = describe(thrown, context);
  const redactor = context.session?.redactor ?? new Redactor();
  // Line by line: what looks like a secret in one must not swallow the next. A list of problems holds no values, and
  // its names (`headers.Authorization: …`) would be masked as secrets.
  const clean = isList ? (line: string) => redactor.known(line) : (line: string) => redactor.text(line);
  const text = message.split('\n').map(clean).join('\n');
  if (context.isJson) io.stderr.write(`${JSON.stringify({ error: { code, message: text } })}\n`);
  else io.stderr.write(`headworks: ${text.split('\n').map(printable).join('\n')}\n`);
  const isDebug = context.session?.knownConfig?.logging.level === 'debug';
  if (isDebug && thrown instanceof Error) io.stderr.write(`${redactor.text(stackOf(thrown))}\n`);
  return exitCode;
}

/** After an interrupt every failure is a consequence of it. */
function isInterrupt(thrown: unknown, io: CliIo): boolean {
  return thrown instanceof Interrupt || io.signal.reason instanceof Interrupt;
}

interface Described {
  readonly code: string;
  readonly message: string;
  readonly exitCode: ExitCode;
  /** One problem per line, of a file that was checked by a schema. */
  readonly isList?: boolean;
}

function describe(thrown: unknown, { session, command }: ErrorContext): Described {
  if (thrown instanceof UsageError || thrown instanceof CommanderError) {
    const name = command ? commandName(command) : (session?.command ?? '');
    const text = thrown instanceof UsageError ? thrown.message : usageMessage(thrown, command);
    const message = `${text} See ${['headworks', name, '--help'].filter(Boolean).join(' ')}.`;
    return { code: 'USAGE', message, exitCode: exitCodes.usage };
  }
  if (thrown instanceof HeadworksError) {
    // Only a list of problems has lines of its own.
    const hasLines = thrown.code === 'CONFIG_INVALID' || Array.isArray(thrown.details['problems']);
    const message = hasLines ? thrown.message : printable(thrown.message);
    const isList = thrown.code === 'EXTRACTION_SOURCE_INVALID' && hasLines;
    return { code: thrown.code, message, exitCode: exitCodeOf(thrown), isList };
  }
  return {
    code: 'INTERNAL',
    message:
      `Unexpected error: ${sentence(printable(messageOf(thrown)))} ` +
      'Run it again with --log-level debug to see where, and please report it.',
    exitCode: exitCodes.error,
  };
}

/** Messages of commander in the style of ours. */
const wordings: readonly (readonly [RegExp, string])[] = [
  [/^error: /, ''],
  [/^unknown option '(.+?)'/, 'There is no option $1.'],
  [/^unknown command '(.+?)'/, 'There is no command $1.'],
  [/\s*\(Did you mean (.+)\?\)$/, ' Did you mean $1?'],
  [/^missing required argument '(.+)'/, 'The argument <$1> is missing.'],
  [/^required option '(.+)' not specified/, 'The option $1 is missing.'],
  [/^option '(.+)' argument missing/, 'The option $1 needs a value.'],
  [/^option '(--\S+).*?' argument '(.*)' is invalid\./s, 'The value "$2" of $1 is invalid.'],
  [/^command-argument value '(.*)' is invalid for argument '(.+?)'\./s, 'The value "$1" of <$2> is invalid.'],
  [/^option '(.+)' cannot be used with option '(.+)'/, '$1 cannot be used with $2.'],
  [
    /^too many arguments.*?\. Expected (\d+) arguments? but got (\d+).*/s,
    'Too many arguments: expected $1, got $2.',
  ],
];

/** Commander reports only the first one. */
function missingInputs(command: CliCommand): readonly string[] {
  return [
    ...command.registeredArguments
      .filter(({ required }, index) => required && command.args[index] === undefined)
      .map((argument) => `<${argument.name()}>`),
    ...command.options
      .filter((option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined)
      .map(({ flags }) => flags),
  ];
}

function usageMessage(error: CommanderError, command: CliCommand | undefined): string {
  const missing = error.code.startsWith('commander.missing') && command ? missingInputs(command) : [];
  if (missing.length > 1) return `${missing.slice(0, -1).join(', ')} and ${missing.at(-1)} are missing.`;
  const text = wordings.reduce((message, [theirs, ours]) => message.replace(theirs, ours), error.message);
  const flag = /^The value ".*" of (--\S+) /s.exec(text)?.[1];
  const example =
    error.code === 'commander.invalidArgument' && command ? exampleWith(command, flag) : undefined;
  return sentence(text) + (example === undefined ? '' : ` Example: "${example}".`);
}

/** An example of the command that shows the flag, else the flag with its default. */
function exampleWith({ shownExamples, options }: CliCommand, flag: string | undefined): string | undefined {
  const line = shownExamples.find((each) => flag === undefined || each.includes(`${flag} `));
  const standard: unknown = options.find(({ long }) => long === flag)?.defaultValue;
  return line ?? (typeof standard === 'number' ? `${flag} ${standard}` : undefined);
}

const sentence = (text: string): string => (/[.?!)]$/.test(text) ? text : `${text}.`);

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : '';
  return (error.stack ?? String(error)) + cause;
}
