// npm run release -- patch|minor|major: runs the checks and all tests, moves "Unreleased" of CHANGELOG.md to the new version,
// records the checksums of migrations, commits, tags and packs. A version in package.json that has no tag yet is released as
// it is. `--dry-run` prints what would be done. Publishing the package and pushing the tag stay manual.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { migrationChecksums, releasedMigrationsFile } from './released-migrations.ts';

const kinds = ['major', 'minor', 'patch'] as const;
type Kind = (typeof kinds)[number];

/** `0.2.0` and `minor` give `0.3.0` if 0.2.0 was released, and 0.2.0 otherwise. */
export function nextVersion(version: string, isReleased: boolean, kind: Kind): string {
  if (!isReleased) return version;
  const parts = version.split('.').map(Number);
  const index = kinds.indexOf(kind);
  return parts.map((part, at) => (at < index ? part : at === index ? part + 1 : 0)).join('.');
}

/** The changelog with the entries of "Unreleased" under the new version. Throws when there are none. */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  const [, entries = ''] = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog) ?? [];
  if (entries.trim() === '')
    throw new Error('CHANGELOG.md has no entries under "## Unreleased". Add them first.');
  return changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${version} (${date})\n`);
}

const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8' }).trim();

function release(kind: Kind, isDryRun: boolean): void {
  const manifest = readFileSync('package.json', 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const isReleased = run('git', 'tag', '--list', `v${version}`) !== '';
  const next = nextVersion(version, isReleased, kind);
  const changelog = releaseChangelog(
    readFileSync('CHANGELOG.md', 'utf8'),
    next,
    new Date().toISOString().slice(0, 10),
  );
  if (isDryRun) {
    const before = isReleased ? `after ${version}` : 'it has no tag yet';
    console.log(
      `Would release ${next} (${before}): npm test, CHANGELOG.md, package.json, commit, tag v${next}, npm pack.`,
    );
    return;
  }
  if (run('git', 'status', '--porcelain') !== '')
    throw new Error('The work tree has changes. Commit or stash them first.');
  if (run('git', 'branch', '--show-current') !== 'main') throw new Error('Releases are made from main.');
  // Includes npm run check.
  execFileSync('npm', ['test'], { stdio: 'inherit' });
  writeFileSync('CHANGELOG.md', changelog);
  writeFileSync(releasedMigrationsFile, `${JSON.stringify(migrationChecksums(), null, 2)}\n`);
  if (isReleased) run('npm', 'version', next, '--no-git-tag-version');
  run('git', 'commit', '-am', `chore(release): ${next}`);
  run('git', 'tag', '-a', `v${next}`, '-m', `Headworks ${next}`);
  execFileSync('npm', ['pack'], { stdio: 'inherit' });
  console.log(
    `\nReleased ${next} locally. Next: git push --follow-tags && npm publish headworks-${next}.tgz`,
  );
}

if (import.meta.main) {
  const kind = kinds.find((each) => process.argv.includes(each));
  if (kind === undefined) {
    console.error('Usage: npm run release -- patch|minor|major [--dry-run]');
    process.exitCode = 2;
  } else
    try {
      release(kind, process.argv.includes('--dry-run'));
    } catch (error) {
      console.error(`release: ${(error as Error).message}`);
      process.exitCode = 1;
    }
}
