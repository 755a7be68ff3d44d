// Debian's packages: fetched and unpacked privately for the servers, installed only for what must be installed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from './find-program.ts';
import { runCommand, log } from './run-command.ts';

/** apt with lists, archives and status of its own, so that it needs no privileges and does not change the system. */
export type PrivateApt = (tool: 'apt-get' | 'apt-cache', ...args: readonly string[]) => Promise<string>;

export const isDebian = (): boolean =>
  existsSync('/etc/debian_version') && Boolean(findProgram('apt-get') && findProgram('dpkg-deb'));

/** `bookworm`, `trixie`, …; `unknown` if the system does not name it. */
export function debianCodename(): string {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '';
  return /^VERSION_CODENAME=(\w+)$/m.exec(release)?.[1] ?? 'unknown';
}

/** Prepares a private apt in `folder` and reads the package lists of the configured mirrors. */
export async function openPrivateApt(folder: string): Promise<PrivateApt> {
  await mkdir(join(folder, 'lists/partial'), { recursive: true });
  await mkdir(join(folder, 'archives/partial'), { recursive: true });
  // Installed servers must be downloadable too.
  const installed = readFileSync('/var/lib/dpkg/status', 'utf8').split('\n\n');
  const others = installed.filter((entry) => !/^Package: (postgresql|redis)/m.test(entry));
  await writeFile(join(folder, 'status'), others.join('\n\n'));
  const settings = [
    `Dir::State::lists=${folder}/lists`,
    `Dir::State::status=${folder}/status`,
    `Dir::Cache::archives=${folder}/archives`,
    'Dir::Cache::pkgcache=',
    'Dir::Cache::srcpkgcache=',
    'Debug::NoLocking=1',
    'APT::Sandbox::User=root',
    'Acquire::Retries=3',
    'Acquire::Languages=none',
  ].flatMap((setting) => ['-o', setting]);
  const apt: PrivateApt = (tool, ...args) =>
    runCommand(tool, ['-qq', ...settings, ...args], { cwd: join(folder, 'archives') });
  await apt('apt-get', 'update').catch((error: unknown) =>
    log(`apt-get update failed in part; continuing. ${String(error)}`),
  );
  return apt;
}

/** Downloads PostgreSQL (the release's own version), its headers and Redis, and unpacks them into `root`. */
export async function unpackServers(apt: PrivateApt, archives: string, root: string): Promise<void> {
  const depends = await apt('apt-cache', 'depends', 'postgresql');
  const major = /Depends: postgresql-(\d+)$/m.exec(depends)?.[1];
  if (!major) throw new Error('apt has no package postgresql.');
  const packages = [`postgresql-${major}`, 'redis-server'];
  await apt('apt-get', '-y', '--no-install-recommends', '--download-only', 'install', ...packages);
  await apt('apt-get', 'download', `postgresql-server-dev-${major}`);
  await mkdir(root);
  for (const name of await readdir(archives))
    if (name.endsWith('.deb')) await runCommand('dpkg-deb', ['-x', join(archives, name), root]);
}

/** Installs system packages. Requires root on Debian; otherwise fails with the list of packages to install. */
export async function installPackages(names: readonly string[], purpose: string): Promise<void> {
  const list = names.join(' ');
  if (!isDebian())
    throw new Error(`${purpose} needs ${list}, and this is not Debian; install it by your own means.`);
  if (process.getuid?.() !== 0)
    throw new Error(`${purpose} needs ${list}. As root: apt-get install --no-install-recommends ${list}`);
  log(`${purpose} needs ${list}: installing with apt-get, this can take a minute`);
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const wait = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Acquire::Retries=3'];
  const lists = '/var/lib/apt/lists';
  if (!existsSync(lists) || readdirSync(lists).every((name) => !name.includes('Packages')))
    await runCommand('apt-get', ['-qq', ...wait, 'update'], { environment });
  const install = ['-qq', ...wait, 'install', '-y', '--no-install-recommends', ...names];
  await runCommand('apt-get', install, { environment }).catch(async () => {
    // Outdated lists name packages that the mirror has replaced since.
    await runCommand('apt-get', ['-qq', ...wait, 'update'], { environment });
    await runCommand('apt-get', install, { environment });
  });
}
