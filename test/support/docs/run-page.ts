// Executes the commands of a page of the docs, in order, in a folder of their own.
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readDocBlocks, type DocCommand } from '../../../scripts/doc-commands.ts';
import { repository } from '../installed-package.ts';
import { compareOutput, withNames, type Comparison } from './output-shape.ts';
import { ShellSession } from './shell-session.ts';

export interface PageRules {
  /** Replacements in commands for what exists only elsewhere, such as a host. */
  readonly replace?: Readonly<Record<string, string>>;
  /** Returns a script that creates what the page assumes. */
  readonly before?: () => string | Promise<string>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Commands that run until Ctrl-C, and the last line they print when they are ready. */
const server = /^(?:\w+=\S+ )*(headworks (?:serve|worker|simulate \w+|demo)\b|node \S+server\.ts)/;
const serverReady = /Ctrl-C stops |In another terminal:/;

/** Ports that pages show. In a test each page has ports of its own. */
const shownPorts = ['6379', '8420', '8431', '19998', '19999'];

/**
 * @param project - where the package is installed.
 * @param prepare - puts an empty store into the new folder: creating one takes four seconds of processor time.
 */
export async function runPage(
  page: string,
  { replace = {}, before, env = {} }: PageRules,
  project: string,
  prepare: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-docs-'));
  await prepare(folder);
  const ports = new Map<string, string>();
  for (const port of shownPorts) ports.set(port, await freePort());
  // The commands of the installed package, and the Node that runs the tests.
  const path = [join(project, 'node_modules/.bin'), dirname(process.execPath), process.env['PATH'] ?? ''];
  const shell = new ShellSession(folder, {
    PATH: path.join(':'),
    HOME: folder,
    LANG: 'C.UTF-8',
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
    HEADWORKS_PORT: ports.get('8420') ?? '',
    PORT: ports.get('8431') ?? '',
    ...env,
  });
  const problems: string[] = [];
  try {
    const examples = join(project, 'node_modules/headworks/examples');
    await cp(examples, join(folder, 'examples'), { recursive: true });
    if (before !== undefined) {
      const { code, output } = await shell.run(await before());
      if (code !== 0) throw new Error(`the preparation of ${page} failed (${code}):\n${output}`);
    }
    const names = new Map<string, string>();
    const blocks = readDocBlocks(await readFile(join(repository, page), 'utf8'));
    const commands = blocks
      .filter(({ notExecuted }) => notExecuted === null)
      .flatMap((block) => block.commands);
    for (const [index, command] of commands.entries()) {
      let text = withNames(command.text, names);
      for (const [shown, actual] of Object.entries(replace)) text = text.replaceAll(shown, actual);
      for (const [shown, actual] of ports) text = text.replaceAll(new RegExp(`\\b${shown}\\b`, 'g'), actual);
      // A page that shows a failure shows its exit code next.
      const mayFail = commands[index + 1]?.text === 'echo $?';
      const outcome = await execute(command, withPort(text, ports), mayFail, shell);
      for (const [name, value] of outcome.names) names.set(name, value);
      if (outcome.problem !== null) problems.push(describeProblem(page, command, text, outcome));
    }
  } finally {
    await shell.close();
    if (problems.length === 0) await rm(folder, { recursive: true, force: true });
  }
  if (problems.length > 0) throw new Error([...problems, advice].join('\n\n'));
}

const advice =
  'Correct the page, or the command if the page is right. CONTRIBUTING.md, "Docs", says how pages are executed.';

interface Outcome extends Comparison {
  readonly output: string;
}

async function execute(
  command: DocCommand,
  text: string,
  mayFail: boolean,
  shell: ShellSession,
): Promise<Outcome> {
  const [, kind] = server.exec(text) ?? [];
  const { code, output } =
    kind === undefined
      ? await shell.run(text)
      : await shell.start(kind, text, (printed) => serverReady.test(printed));
  const compared =
    command.output === null
      ? { problem: null, names: new Map<string, string>() }
      : compareOutput(command.output, output.split('\n'));
  let { problem } = compared;
  if (code !== 0 && !mayFail) problem = `exit code ${code}`;
  // Numbers may differ elsewhere, but not here.
  else if (command.text === 'echo $?' && output.trim() !== command.output?.join('').trim())
    problem = `exit code ${output.trim()} of the command before`;
  return { problem, names: compared.names, output };
}

function describeProblem(page: string, command: DocCommand, text: string, outcome: Outcome): string {
  const indent = (lines: readonly string[]) => lines.map((line) => `    ${line}`);
  return [
    `${page}:${command.line}: ${outcome.problem}`,
    '  the page shows',
    ...indent([`$ ${command.text}`, ...(command.output ?? [])]),
    '  the test got',
    ...indent([`$ ${text}`, ...outcome.output.trimEnd().split('\n')]),
  ].join('\n');
}

/** Simulators have a flag for the port, not a variable. */
const withPort = (command: string, ports: ReadonlyMap<string, string>): string =>
  command
    .replace(/^headworks simulate models/, `$& --port ${ports.get('19998')}`)
    .replace(/^headworks simulate looker/, `$& --port ${ports.get('19999')}`);

/** Below the range of ephemeral ports, so that none is used before the page uses it. */
async function freePort(): Promise<string> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.on('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return String(port);
  }
}
