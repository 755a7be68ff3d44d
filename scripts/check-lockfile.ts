// Part of `npm run check`: a lockfile that installs on every machine, from every registry.
import { readFileSync } from 'node:fs';

interface LockedPackage {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** One line per problem; empty without problems. */
export function findLockfileProblems({ packages }: Lockfile): readonly string[] {
  const problems: string[] = [];
  for (const [path, locked] of Object.entries(packages)) {
    const name = path || 'this package';
    if (locked.resolved !== undefined && !locked.link)
      problems.push(
        `${name} is bound to the address ${locked.resolved}: install with this repository's .npmrc`,
      );
    for (const optional of Object.keys(locked.optionalDependencies ?? {}))
      if (!isLocked(packages, path, optional))
        problems.push(
          `${name} names the optional ${optional}, which is missing: npm ci fails on the platform that needs it. ` +
            'Delete package-lock.json and node_modules, then npm install; if that does not help, pin another version',
        );
  }
  return problems;
}

/** As Node looks it up: in the package's own node_modules, then in those of the folders around it. */
function isLocked(packages: Lockfile['packages'], from: string, name: string): boolean {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    if (packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]) return true;
    if (folder === '') return false;
  }
}

if (import.meta.main) {
  const lockfile = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lockfile;
  const problems = findLockfileProblems(lockfile);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
