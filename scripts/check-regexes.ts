// Every regular expression in src/ takes linear time, or its input is bounded. New ones are analyzed with recheck, which
// takes seconds for some; verdicts are kept in regexes.json, and `npm run verify:slow` repeats the analysis.
//
//   node scripts/check-regexes.ts           fails for an expression that regexes.json does not list
//   node scripts/check-regexes.ts --write   analyzes new ones and adds those that are linear
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseSync } from '@swc/core';

const root = join(import.meta.dirname, '..');
const listFile = join(import.meta.dirname, 'regexes.json');
const analysisTimeoutMs = 30_000;

/** `bounded`: why an expression that is not linear cannot take long. */
interface Verdicts {
  readonly linear: readonly string[];
  readonly bounded: Readonly<Record<string, string>>;
}

interface Found {
  readonly source: string;
  readonly flags: string;
  readonly file: string;
}

/** Without an unbounded repetition the time is linear. */
const isUnbounded = ({ source }: Found): boolean => /[*+]|\{\d+,\}/.test(source);

const nameOf = ({ source, flags }: Found): string => `/${source}/${flags}`;

/** All expressions of src/ by name: literals, and those that modules build when they are loaded. */
export async function findRegexes(folder = root): Promise<ReadonlyMap<string, Found>> {
  const files = globSync('src/**/*.ts', { cwd: folder }).filter((file) => !/\.(?:test|d)\.ts$/.test(file));
  const found: Found[] = [];
  const building: string[] = [];
  for (const file of files) {
    const code = readFileSync(join(folder, file), 'utf8');
    if (code.includes('new RegExp(')) building.push(file);
    if (code.includes('/')) found.push(...literalsIn(parseSync(code, { syntax: 'typescript' }), file));
  }
  for (const file of building) found.push(...(await builtBy(join(folder, file), file)));
  return new Map(found.filter(isUnbounded).map((each) => [nameOf(each), each]));
}

function* literalsIn(node: unknown, file: string): Generator<Found> {
  if (typeof node !== 'object' || node === null) return;
  const { type, pattern, flags } = node as { type?: unknown; pattern?: unknown; flags?: unknown };
  if (type === 'RegExpLiteral') yield { source: String(pattern), flags: String(flags), file };
  for (const inner of Object.values(node)) yield* literalsIn(inner, file);
}

async function builtBy(path: string, file: string): Promise<readonly Found[]> {
  const built: Found[] = [];
  const { RegExp: original } = globalThis;
  globalThis.RegExp = new Proxy(original, {
    construct: (target, parameters, newTarget) => {
      const made = Reflect.construct(target, parameters, newTarget) as RegExp;
      built.push({ source: made.source, flags: made.flags, file });
      return made;
    },
  });
  try {
    await import(pathToFileURL(path).href);
  } finally {
    globalThis.RegExp = original;
  }
  return built;
}

/** recheck makes inputs that take 1.5 s. */
const provenMs = 500;

function cpuMsOf(regex: RegExp, input: string): number {
  const before = process.threadCpuUsage();
  regex.test(input);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** Null when it takes linear time; otherwise why not, with an input that shows it. */
export async function problemOf(
  { source, flags }: Pick<Found, 'source' | 'flags'>,
  timeout = analysisTimeoutMs,
): Promise<string | null> {
  const { check } = await import('recheck');
  const found = await check(source, flags, { timeout });
  if (found.status === 'safe') return null;
  if (found.status === 'unknown') return `could not be analyzed (${found.error.kind})`;
  const { complexity, attack } = found;
  // recheck confirms an input by the clock: on a busy machine any takes long.
  if (complexity.type === 'polynomial' && cpuMsOf(new RegExp(source, flags), attack.string) < provenMs)
    return null;
  return `takes ${complexity.type} time, for example on ${attack.pattern}`;
}

export const readVerdicts = (): Verdicts => JSON.parse(readFileSync(listFile, 'utf8')) as Verdicts;

async function main(isWriting: boolean): Promise<void> {
  const { linear, bounded } = readVerdicts();
  const found = await findRegexes();
  const known = new Set([...linear, ...Object.keys(bounded)]);
  const problems: string[] = [];
  const added: string[] = [];
  for (const [name, each] of found) {
    if (known.has(name)) continue;
    const problem = isWriting ? await problemOf(each) : 'is new: run --write';
    if (problem === null) added.push(name);
    else problems.push(`${each.file}: ${name} ${problem}`);
  }
  const gone = [...known].filter((name) => !found.has(name));
  if (isWriting) {
    const kept = [...new Set([...linear, ...added])].filter((name) => found.has(name)).sort();
    const reasons = Object.entries(bounded).filter(([name]) => found.has(name));
    writeFileSync(
      listFile,
      `${JSON.stringify({ linear: kept, bounded: Object.fromEntries(reasons) }, null, 2)}\n`,
    );
  } else problems.push(...gone.map((name) => `regexes.json: ${name} is not in src/ any more: run --write`));
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) {
    console.log(
      '\nRewrite what is not linear, or bound its input and add it to "bounded" in scripts/regexes.json with the reason.',
    );
    process.exitCode = 1;
  } else
    console.log(
      `${found.size} regular expressions, ${Object.keys(bounded).length} of them with bounded input`,
    );
}

if (import.meta.main) await main(process.argv[2] === '--write');
