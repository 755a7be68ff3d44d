// Part of `npm run check`: imports, cycles, and reads of the environment.
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { forbidden } from './boundary-rules.ts';
import { readUsingDeclarations } from './swc-using-declarations.ts';

const roots = ['src', 'test', 'scripts', 'bench', 'examples'];

/** One line per violation of the rules in the tree under `folder`; empty without violations. */
export async function findViolations(folder: string): Promise<readonly string[]> {
  const { modules, summary } = await readModules(folder);
  const lines = summary.violations.map(({ rule, from, to, cycle }) => {
    const path = cycle ? [from, ...cycle.map(({ name }) => name)] : [from, to];
    return `${path.join(' → ')}: ${commentOf(rule.name)} (${rule.name})`;
  });
  return [...lines, ...unread(folder, modules), ...environmentReads(folder), ...directUses(folder)];
}

async function readModules(folder: string): Promise<ICruiseResult> {
  readUsingDeclarations();
  const there = roots.filter((root) => existsSync(join(folder, root)));
  const result = await cruise(
    there,
    {
      baseDir: folder,
      // With TypeScript 7 its own parser reads no module at all, and then finds nothing wrong.
      parser: 'swc',
      validate: true,
      ruleSet: { forbidden: [...forbidden] },
      doNotFollow: { path: 'node_modules' },
      exclude: { path: '^(dist|coverage)/' },
    },
    {
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
      conditionNames: ['import', 'node', 'default'],
      exportsFields: ['exports'],
    },
  );
  if (typeof result.output === 'string') throw new Error(result.output);
  return result.output;
}

const commentOf = (name: string): string => forbidden.find((rule) => rule.name === name)?.comment ?? '';

/** A checker that reads nothing finds nothing: every source must have been read, imports included. */
function unread(folder: string, modules: ICruiseResult['modules']): readonly string[] {
  const read = new Map(modules.map((module) => [module.source, module.dependencies.length]));
  return globSync('src/**/*.ts', { cwd: folder })
    .filter((file) => {
      const hasImport = /^import .* from '\./m.test(readFileSync(join(folder, file), 'utf8'));
      const imports = read.get(file);
      return imports === undefined || (hasImport && imports === 0);
    })
    .map((file) => `${file}: dependency-cruiser did not read it, so nothing is known about its imports`);
}

/** Only config reads the environment; everything else gets it as a parameter. */
function environmentReads(folder: string): readonly string[] {
  const readsIt =
    /\bprocess\s*(\?\.|\.)\s*env\b|\bprocess\[|\{[^}]*\benv\b[^}]*\}\s*(=\s*process\b|from\s*'(node:)?process')/;
  return globSync('src/**/*.ts', { cwd: folder })
    .filter((file) => !file.startsWith('src/config/') && !/\.(test|contract)\.ts$|\/contract\//.test(file))
    .filter((file) => readsIt.test(readFileSync(join(folder, file), 'utf8')))
    .map((file) => `${file}: reads process.env; only src/config does, and hands it on`);
}

/** Folders whose clock, randomness and transports are injected. Lint finds direct uses, this the indirect ones. */
const injected = /^src\/(core|resilience|ledger|extraction|gateway|knowledge|tenancy|simulators)\//;
const directCalls = /\bnew Date\(\s*\)|(?<![\w.]|new )Date\(\s*\)|\bglobalThis\b|\bgetRandomValues\b/;
const indirectImports = /from '(?:node:)?(?:timers|timers\/promises|perf_hooks|process)'/;
const networkImports = /from '(?:undici|(?:node:)?(?:http|https|http2|net|tls|dns|dgram)(?:\/promises)?)'/;

/** Time, randomness and network access are injected, except in simulators and folders of a technology. */
function directUses(folder: string): readonly string[] {
  return globSync('src/**/*.ts', { cwd: folder })
    .filter((file) => injected.test(file) && !/\.(test|contract)\.ts$|\/contract\//.test(file))
    .filter((file) => file !== 'src/core/system.ts')
    .filter((file) => {
      const text = readFileSync(join(folder, file), 'utf8');
      const mayUseNetwork =
        file.startsWith('src/simulators/') || /\/(postgres|redis|sqlite|undici)\//.test(file);
      return (
        directCalls.test(text) || indirectImports.test(text) || (!mayUseNetwork && networkImports.test(text))
      );
    })
    .map((file) => `${file}: uses time, randomness or the network directly; they must be injected`);
}

if (import.meta.main) {
  const lines = await findViolations(process.cwd());
  for (const line of lines) console.error(line);
  process.exitCode = lines.length === 0 ? 0 : 1;
}
