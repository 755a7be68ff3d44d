// Part of `npm run check`: every link, command, flag, variable, code, script, export, file and test that the docs name exists.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { citedFileProblems } from './cited-files.ts';
import { citedTestProblems, uncitedGuarantees } from './cited-tests.ts';
import { blockProblems } from './doc-commands.ts';
import { readDocFacts, upperSnake, type CommandFacts, type DocFacts } from './doc-facts.ts';

const pages = ['*.md', 'docs/**/*.md', 'src/**/*.md', 'bench/**/*.md', 'examples/**/*.md', 'test/**/*.md'];

/** One line per problem of the page `path`; empty without problems. */
export function findDocProblems(path: string, text: string, facts: DocFacts): readonly string[] {
  const problems = [
    ...deadLinks(path, text),
    ...unknownNames(text, facts),
    ...citedTestProblems(path, text),
    ...citedFileProblems(path, text),
    ...(path === 'docs/reference/guarantees.md' ? uncitedGuarantees(text) : []),
    ...(path.startsWith('docs/reference/') ? [] : blockProblems(text)),
    ...commandLines(text).flatMap((line) => unknownCommands(line, facts)),
  ];
  return [...new Set(problems)].map((problem) => `${path}: ${problem}`);
}

/** Links of the page `path` below `root` that lead nowhere, or out of `root`. */
export function deadLinks(path: string, text: string, root = '.'): readonly string[] {
  const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links
    .filter((target) => !/^[a-z]+:/.test(target))
    .flatMap((target) => {
      const [file = '', anchor] = target.split('#');
      const page = join(root, file === '' ? path : join(dirname(path), file));
      if (!existsSync(page) || relative(root, page).startsWith('..'))
        return [`the link ${target} leads nowhere`];
      if (anchor === undefined || !page.endsWith('.md')) return [];
      return anchors(readFileSync(page, 'utf8')).has(anchor) ? [] : [`no heading for the link ${target}`];
    });
}

/** Headings as GitHub turns them into anchors. */
function anchors(text: string): ReadonlySet<string> {
  const headings = text.match(/^#+ .*$/gm) ?? [];
  return new Set(
    headings.map((heading) =>
      heading
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Variables of clients of the gateway, which the docs say how to set. */
const ofOtherPrograms = /^(?:ANTHROPIC|CODEX|OPENAI)_/;

function unknownNames(text: string, facts: DocFacts): readonly string[] {
  const inText = text.replaceAll('\\_', '_').match(upperSnake) ?? [];
  const names = inText.filter((name) => !ofOtherPrograms.test(name));
  const exported = [...text.matchAll(/'(headworks(?:\/[a-z-]+)?)'/g)].map(([, path = '']) => path);
  return [
    ...names
      .filter((name) => !(name.startsWith('HEADWORKS_') ? facts.environment : facts.names).has(name))
      .map((name) => `there is no ${name} in the code`),
    ...exported
      .filter((path) => !facts.exports.has(path))
      .map((path) => `the package does not export ${path}`),
  ];
}

const codeBlock = /^ *```[^\n]*\n([\s\S]*?)^ *```/gm;
const withoutCode = (text: string): string => text.replace(codeBlock, '').replace(/`[^`\n]+`/g, '');

/** Code of a page as single commands without prompts and comments. */
function commandLines(text: string): readonly string[] {
  const blocks = [...text.matchAll(codeBlock)].flatMap(([, block = '']) => block.split('\n'));
  const spans = [...text.replace(codeBlock, '').matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return [...blocks, ...spans]
    .flatMap((line) => line.replace(/(^|\s)#.*$/, '').split(/&&|\|\|?|;|\$\(|\)/))
    .map((line) => line.trim().replace(/^\$ /, ''));
}

function unknownCommands(line: string, facts: DocFacts): readonly string[] {
  const [, script] = /^npm run (?:(?:--silent|-s) )?([\w:-]+)/.exec(line) ?? [];
  if (script !== undefined && !facts.scripts.has(script)) return [`there is no "npm run ${script}"`];
  const [, rest] =
    /^(?:npx )?headworks(?:\s+(.*))?$/.exec(line) ?? /^npm run (?:-s )?headworks -- (.*)$/.exec(line) ?? [];
  return rest === undefined ? [] : unknownWords(rest.split(/\s+/), facts.command, 'headworks');
}

/** Walks down the commands; words after the last of them are its arguments, and values of flags. */
function unknownWords(words: readonly string[], command: CommandFacts, name: string): readonly string[] {
  const [word, ...rest] = words;
  if (word === undefined) return [];
  const next = command.subcommands.get(word);
  if (next) return unknownWords(rest, next, `${name} ${word}`);
  if (/^[a-z]/.test(word) && command.subcommands.size > 0 && !command.takesArguments)
    return [`there is no command "${name} ${word}"`];
  return words
    .filter((flag) => /^--?[a-z]/i.test(flag))
    .map((flag) => flag.replace(/=.*$/, '').replace(/[^\w-].*$/, ''))
    .filter((flag) => !command.flags.has(flag))
    .map((flag) => `"${name}" takes no ${flag}`);
}

/** CI runs the same commands as the README. */
export function ciProblems(ci: string, readme: string): readonly string[] {
  const command = ci.trim().split('\n').at(-1) ?? '';
  return commandBlocks(readme).includes(command)
    ? []
    : [`.ci/run: runs "${command}", which the README does not name`];
}

const commandBlocks = (text: string): readonly string[] =>
  [...text.matchAll(codeBlock)].flatMap(([, block = '']) =>
    block.split('\n').map((line) => line.replace(/\s+#.*$/, '')),
  );

if (import.meta.main) {
  const facts = await readDocFacts();
  // The changelog names what no longer exists.
  const files = globSync(pages, { exclude: (name) => name.includes('node_modules') }).filter(
    (path) => path !== 'CHANGELOG.md',
  );
  const problems = files.flatMap((file) => findDocProblems(file, readFileSync(file, 'utf8'), facts));
  problems.push(...ciProblems(readFileSync('.ci/run', 'utf8'), readFileSync('README.md', 'utf8')));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
