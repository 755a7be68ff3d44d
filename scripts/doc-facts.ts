// Names that the documentation may use, read from the code.
import type { Command } from 'commander';
import { globSync, readFileSync } from 'node:fs';
import type { CliIo } from '../src/cli/io.ts';
import { buildProgram } from '../src/cli/program.ts';
import { listOptions, optionSections } from '../src/config/index.ts';
import { configFileVariable } from '../src/config/config.ts';

/** A command of the CLI: the flags it takes, with those of the commands above it, and what is below it. */
export interface CommandFacts {
  readonly flags: ReadonlySet<string>;
  readonly takesArguments: boolean;
  readonly subcommands: ReadonlyMap<string, CommandFacts>;
}

export interface DocFacts {
  readonly command: CommandFacts;
  /** Environment variables that start with HEADWORKS_. */
  readonly environment: ReadonlySet<string>;
  /** Names in UPPER_SNAKE case that occur in the code: error codes, other variables, settings. */
  readonly names: ReadonlySet<string>;
  /** What `npm run` can run. */
  readonly scripts: ReadonlySet<string>;
  /** What can be imported: `headworks`, `headworks/client`, … */
  readonly exports: ReadonlySet<string>;
}

export const upperSnake = /\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g;

/** Reads them from the repository in the working directory. */
export async function readDocFacts(): Promise<DocFacts> {
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly name: string;
    readonly scripts: Readonly<Record<string, string>>;
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const sources = globSync([
    'src/**/*.{ts,sql,lua,json}',
    'scripts/**/*.ts',
    'bench/**/*.ts',
    'examples/**/*.ts',
  ]);
  const product = sources.filter((file) => !file.endsWith('.test.ts'));
  return {
    command: factsOf(await documentedProgram(), ['-h', '--help', '-V', '--version']),
    environment: new Set([
      configFileVariable,
      ...listOptions(optionSections).flatMap(({ spec }) => spec.env),
    ]),
    names: new Set(product.flatMap((file) => readFileSync(file, 'utf8').match(upperSnake) ?? [])),
    scripts: new Set(Object.keys(manifest.scripts)),
    exports: new Set(Object.keys(manifest.exports).map((path) => manifest.name + path.slice(1))),
  };
}

/** The whole command tree. It is built, not run, so it needs nothing of the process. */
export function documentedProgram(): Promise<Command> {
  const io = { version: '0', columns: null } as unknown as CliIo;
  return buildProgram({ io, session: null, exitCode: 0 });
}

/** The command and everything below it. */
export function factsOf(command: Command, inherited: Iterable<string>): CommandFacts {
  const own = command.options.flatMap(({ short, long }) =>
    [short, long].filter((flag) => flag !== undefined),
  );
  const flags = new Set([...inherited, ...own]);
  const below = command.commands.flatMap((sub) => {
    const facts = factsOf(sub, flags);
    return [sub.name(), ...sub.aliases()].map((name) => [name, facts] as const);
  });
  return { flags, takesArguments: command.registeredArguments.length > 0, subcommands: new Map(below) };
}
