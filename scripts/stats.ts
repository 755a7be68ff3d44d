// npm run stats: the size and shape of the code base, as figures to compare before and after a change.
// `-- --flows` also starts a server and counts the files of src/ that each request flow executes (about a minute).
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { languageFindings } from './check-language.ts';
import { measureFlows } from './stats/flows.ts';

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /\.tsx?$/.test(path));

const read = (path: string): SourceFile[] => {
  try {
    return [{ path, text: readFileSync(path, 'utf8') }];
  } catch {
    return []; // deleted, not yet committed
  }
};

const isTest = (path: string): boolean => /\.(?:test|contract)\.tsx?$/.test(path);
const files = tracked.flatMap(read);
const production = files.filter(({ path }) => path.startsWith('src/') && !isTest(path));
const lines = (of: readonly SourceFile[]): number =>
  of.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0);

/** Paths of the files in src/ that `file` imports. */
function importsOf({ path, text }: SourceFile): readonly string[] {
  return [...text.matchAll(/(?:from|import\()\s*'(\.{1,2}\/[^']+)'/g)].map(([, target = '']) =>
    join(dirname(path), target),
  );
}

/** Files that exactly one file imports, and that one is in the same folder: candidates for merging. */
function filesWithOneNeighbor(): readonly string[] {
  const importers = new Map<string, Set<string>>();
  for (const file of production)
    for (const target of importsOf(file))
      importers.set(target, (importers.get(target) ?? new Set()).add(file.path));
  return production
    .map(({ path }) => path)
    .filter((path) => {
      const [only, ...others] = importers.get(path) ?? [];
      return only !== undefined && others.length === 0 && dirname(only) === dirname(path);
    });
}

/** A comment that begins like this above an interface states why it has a single implementation. */
const statedReason = /One implementation/;

/**
 * Exported interfaces with methods that one class, factory or object in src/ implements and no test double does.
 * Dependencies and options (bags of callbacks) have no implementation of their own and do not count.
 */
function interfacesWithOneImplementation(): readonly string[] {
  const everything = files.filter(({ path }) => /^(?:src|test|bench)\//.test(path));
  // Those of the library are what its users read, without the internals of the implementation.
  const internal = production.filter(({ path }) => !path.startsWith('src/library/'));
  return internal.flatMap(({ path, text }) =>
    [
      ...text.matchAll(
        /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export interface (\w+)(?:<[^{]*>)?[^{]*\{([\s\S]*?)\n\}/g,
      ),
    ]
      .filter(
        ([, comment = '', , body = '']) =>
          /^ {2}\w+\??(?:<[^(]*>)?\(/m.test(body) && !statedReason.test(comment),
      )
      .map(([, , name = '']) => name)
      .filter((name) => implementations(name, everything) === 1)
      .map((name) => `${path}: ${name}`),
  );
}

function implementations(name: string, everything: readonly SourceFile[]): number {
  const pattern = new RegExp(
    `implements [^{]*\\b${name}\\b|\\)(?:: |: Promise<)${name}\\b[^;=]*?(?:\\{|=>)|\\b(?:const|let) \\w+: ${name}\\b[^=;]* = [{(]|satisfies ${name}\\b`,
    'g',
  );
  return everything.reduce((sum, { text }) => sum + [...text.matchAll(pattern)].length, 0);
}

/** Runs a tool of node_modules and returns what it printed, whatever its exit code. */
function output(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? '';
  }
}

function unusedExports(): number {
  const report = JSON.parse(output('knip', ['--reporter', 'json', '--no-progress']) || '{"issues":[]}') as {
    issues: Record<string, unknown[]>[];
  };
  const kinds = ['exports', 'types', 'files', 'dependencies', 'devDependencies'];
  return report.issues.reduce(
    (sum, issue) =>
      sum + kinds.reduce((count, kind) => count + (Array.isArray(issue[kind]) ? issue[kind].length : 0), 0),
    0,
  );
}

function duplicateBlocks(): number {
  const printed = output('jscpd', [
    'src',
    '-l',
    '10',
    '--skip-comments',
    '-i',
    // A migration repeats the function that it replaces.
    '**/*.test.ts,**/*.contract.ts,**/*.md,**/migrations/*.sql',
    '-r',
    'console',
  ]);
  return Number(/Found (\d+) clones/.exec(printed)?.[1] ?? 0);
}

const isListing = process.argv.includes('--list');
const neighbors = filesWithOneNeighbor();
const single = interfacesWithOneImplementation();
const findings = languageFindings();
const rows: [string, string][] = [
  ['production lines in src', lines(production).toLocaleString('en')],
  ['production files in src', production.length.toLocaleString('en')],
  ['files with one importer, in the same folder', String(neighbors.length)],
  ['interfaces with one implementation, no stated reason', String(single.length)],
  ['dialect words and British spellings', findings.length.toLocaleString('en')],
  ['unused exports, files and dependencies (knip)', String(unusedExports())],
  ['duplicate blocks of 10 lines or more (jscpd)', String(duplicateBlocks())],
  [
    'lines of tests (beside the code, test/)',
    lines(files.filter(({ path }) => isTest(path) || path.startsWith('test/'))).toLocaleString('en'),
  ],
  [
    'lines of web, without tests',
    lines(files.filter(({ path }) => path.startsWith('web/') && !isTest(path))).toLocaleString('en'),
  ],
];
if (process.argv.includes('--flows')) rows.push(...(await measureFlows()));
for (const [name, value] of rows) console.log(`${name.padEnd(56)}${value}`);
if (isListing)
  console.log(`\nOne importer:\n${neighbors.join('\n')}\n\nOne implementation:\n${single.join('\n')}`);
