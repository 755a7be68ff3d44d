// pgvector, which Debian 12 does not package: built from the source tarball in Debian's own pool.
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { installPackages, type PrivateApt } from './debian-packages.ts';
import { findProgram } from './find-program.ts';
import { runCommand, log } from './run-command.ts';

export const pgvectorVersion = '0.8.0';
const tarballSha256 = '867a2c328d4928a5a9d6f052cd3bc78c7d60228a9b914ad32aa3db88e9de27b0';
/** The Debian release whose pool has that version. */
const release = 'trixie';

/** Installs the compiler packages if they are missing and this user may install packages. */
export async function ensureCompiler(): Promise<void> {
  const isThere = findProgram('gcc') && findProgram('make') && existsSync('/usr/include/stdio.h');
  if (!isThere) await installPackages(['gcc', 'make', 'libc6-dev'], 'Building pgvector');
}

/** Fetches the source into the private apt's folder through apt's mirrors, by its checksum, or else the version that Debian's signed index names. */
export async function fetchPgvector(apt: PrivateApt, folder: string): Promise<string> {
  const tarball = join(folder, 'pgvector.tar.gz');
  const mirrors = await mirrorsOf(apt);
  for (const mirror of mirrors) {
    const address = `${mirror}pool/main/p/pgvector/pgvector_${pgvectorVersion}.orig.tar.gz`;
    const download = ['download-file', address, tarball, `SHA256:${tarballSha256}`];
    const isFetched = await runCommand('/usr/lib/apt/apt-helper', download).then(
      () => true,
      () => false, // the next mirror, or the index, may have it
    );
    if (isFetched) return tarball;
  }
  log(
    `pgvector ${pgvectorVersion} is not in the pool as pinned; taking the version ${release}'s signed index names`,
  );
  await fetchByIndex(apt, folder, mirrors);
  const archives = join(folder, 'archives');
  const name = (await readdir(archives)).find((file) => file.endsWith('.orig.tar.gz'));
  if (!name) throw new Error('No mirror of the configured apt has the source of pgvector.');
  await rename(join(archives, name), tarball);
  return tarball;
}

async function mirrorsOf(apt: PrivateApt): Promise<readonly string[]> {
  const targets = await apt('apt-get', 'indextargets', '--format', '$(REPO_URI)');
  return [...new Set(targets.split('\n').filter((line) => line !== ''))];
}

async function fetchByIndex(apt: PrivateApt, folder: string, mirrors: readonly string[]): Promise<void> {
  const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
  const list = join(folder, 'sources.list');
  await writeFile(
    list,
    mirrors.map((uri) => `deb-src [signed-by=${keyring}] ${uri} ${release} main\n`).join(''),
  );
  const only = ['-o', `Dir::Etc::sourcelist=${list}`, '-o', 'Dir::Etc::sourceparts=/dev/null'];
  // Security mirrors have no such release: update complains about them and still reads the others.
  await apt('apt-get', ...only, 'update').catch(() => undefined);
  await apt('apt-get', ...only, 'source', '--download-only', 'pgvector');
}

/** Compiles the source and installs it into the tree that `pgConfig` belongs to. */
export async function buildPgvector(tarball: string, folder: string, pgConfig: string): Promise<void> {
  await mkdir(folder);
  await runCommand('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
  const jobs = `-j${availableParallelism()}`;
  // OPTFLAGS empty: the default -march=native would not run on another machine that shares the cache.
  const settings = ['OPTFLAGS=', 'with_llvm=no', `PG_CONFIG=${pgConfig}`];
  await runCommand('make', ['-s', '-C', folder, jobs, ...settings, 'install']);
}
