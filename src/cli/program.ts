// The command line program: its commands, how one is run and how it ends.
import { Command, CommanderError } from 'commander';
import { nearest } from '../core/index.ts';
import type { CommandHost } from './command-host.ts';
import { examples } from './command-host.ts';
import { registerArtifacts } from './commands/artifacts.ts';
import { registerBackup } from './commands/backup.ts';
import { registerConfig } from './commands/config.ts';
import { registerDashboard } from './commands/dashboard.ts';
import { registerDemo } from './commands/demo.ts';
import { registerDeployments } from './commands/deployments.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerEntities } from './commands/entities.ts';
import { registerEvents } from './commands/events.ts';
import { registerExecutions } from './commands/executions.ts';
import { registerExtract } from './commands/extract.ts';
import { registerFolders } from './commands/folders.ts';
import { registerGraph } from './commands/graph.ts';
import { registerIngest } from './commands/ingest.ts';
import { registerJobs } from './commands/jobs.ts';
import { registerKeys } from './commands/keys.ts';
import { registerLedger } from './commands/ledger.ts';
import { registerLimits } from './commands/limits.ts';
import { registerMcp } from './commands/mcp.ts';
import { registerMigrateStore } from './commands/migrate-store.ts';
import { registerModels } from './commands/models.ts';
import { registerOrganizations } from './commands/organizations.ts';
import { registerPrompt } from './commands/prompt.ts';
import { registerRepair } from './commands/repair.ts';
import { registerRestore } from './commands/restore.ts';
import { registerSearch } from './commands/search.ts';
import { registerServe } from './commands/serve.ts';
import { registerSimulate } from './commands/simulate.ts';
import { registerSources } from './commands/sources.ts';
import { registerSpaces } from './commands/spaces.ts';
import { registerVault } from './commands/vault.ts';
import { registerWorker } from './commands/worker.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodeMeanings, exitCodes } from './exit-codes.ts';
import type { CliIo } from './ports.ts';
import { UsageError, reportError } from './report-error.ts';
import { addGlobalFlags, commandName } from './session.ts';

/** Builds the program and runs nothing. Commands tell `host` how they ended. */
export function buildProgram(io: CliIo, host: CommandHost): Command {
  const program = new Command('headworks')
    .description(
      'Extract from rate-limited APIs, route AI models, search documents, serve tenants within exact limits.',
    )
    .version(io.version)
    .option(
      '--config <file>',
      'configuration file (HEADWORKS_CONFIG; default: headworks.yaml if it is there)',
    )
    .option('--json', 'answer in JSON: one document, or one object per line for streams')
    .option('--no-color', 'disable colors (also NO_COLOR)')
    .configureHelp({ showGlobalOptions: true })
    // Errors are reported by reportError, once, in our words.
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
  for (const register of [
    registerServe,
    registerWorker,
    registerDemo,
    registerDashboard,
    registerDoctor,
    registerBackup,
    registerRestore,
    registerMigrateStore,
    registerConfig,
    registerLedger,
    registerRepair,
    registerJobs,
    registerExtract,
    registerSources,
    registerVault,
    registerIngest,
    registerArtifacts,
    registerEvents,
    registerEntities,
    registerGraph,
    registerSpaces,
    registerFolders,
    registerSearch,
    registerMcp,
    registerPrompt,
    registerModels,
    registerKeys,
    registerOrganizations,
    registerDeployments,
    registerLimits,
    registerExecutions,
    registerSimulate,
  ])
    register(program, host);
  examples(program, ['headworks demo', 'headworks serve --port 8420', 'headworks doctor --json']);
  for (const command of program.commands) noteMisread(command, host);
  program.addHelpText('after', `\nExit codes:\n${exitCodeHelp()}`);
  return program;
}

/** An error of commander does not say whose it is. */
function noteMisread(command: Command, host: CommandHost): void {
  command.exitOverride((error) => {
    host.misread = commandName(command);
    throw error;
  });
  for (const each of command.commands) noteMisread(each, host);
}

function exitCodeHelp(): string {
  return Object.entries(exitCodes)
    .map(([name, code]) => `  ${String(code).padEnd(5)}${exitCodeMeanings[name as keyof typeof exitCodes]}`)
    .join('\n');
}

/** `args` without the interpreter and the script. */
export async function runCli(args: readonly string[], io: CliIo): Promise<ExitCode> {
  const host: CommandHost = { io, session: null, exitCode: exitCodes.ok };
  const program = buildProgram(io, host);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return host.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return exitCodes.ok;
      // Help was shown because no command was named: that says enough.
      if (error.code === 'commander.help') return exitCodes.usage;
    }
    const { session, misread: command = '' } = host;
    const context = { isJson: session?.out.isJson ?? args.includes('--json'), session, command };
    return reportError(clarify(error, program, args), io, context);
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
