// The package as users install it: packed and installed into an empty project, once per run.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { messageOf } from '../../src/core/errors.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly packageFolder: string;
  }
}

export const repository = resolve(import.meta.dirname, '../..');

/** Vitest calls it before the first test of a project; the package is packed when a test needs it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-package-'));
  project.provide('packageFolder', folder);
  return () => rm(folder, { recursive: true, force: true });
}

export interface InstalledPackage {
  /** A copy of the checkout in which it was built. */
  readonly checkout: string;
  /** The empty project into which it was installed. */
  readonly project: string;
  readonly tarball: string;
}

/** Packs and installs it, or waits for the test file that does. */
export async function installedPackage(): Promise<InstalledPackage> {
  const folder = inject('packageFolder');
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const installed = {
    checkout: join(folder, 'checkout'),
    project: join(folder, 'project'),
    tarball: join(folder, `headworks-${version}.tgz`),
  };
  const outcome = join(folder, 'outcome');
  const isFirst = await mkdir(installed.project).then(
    () => true,
    () => false,
  );
  if (isFirst)
    await writeFile(
      outcome,
      await install(installed, folder).then(
        () => '',
        (error: unknown) => messageOf(error),
      ),
    );
  while (!existsSync(outcome)) await sleep(100);
  const problem = await readFile(outcome, 'utf8');
  if (problem !== '') throw new Error(problem);
  return installed;
}

async function install({ checkout, project, tarball }: InstalledPackage, folder: string): Promise<void> {
  await copyCheckout(checkout);
  const npm = (args: readonly string[], cwd: string) =>
    promisify(execFile)('npm', [...args], { cwd, maxBuffer: 16 * 1024 * 1024 });
  await npm(['pack', '--silent', '--pack-destination', folder], checkout);
  await writeFile(join(project, 'package.json'), '{"private":true,"type":"module"}');
  await npm(['install', '--silent', '--prefer-offline', '--no-audit', '--no-fund', tarball], project);
}

/** A copy to build and pack in, so that the checkout under test is not changed. */
async function copyCheckout(checkout: string): Promise<void> {
  const folders = ['bin', 'src', 'web', 'scripts', 'docs', 'examples', 'monitoring'];
  const files = readdirSync(repository).filter((name) =>
    /\.(?:md|json|yaml)$|^LICENSE$|^\.npmrc$|^\.env\.example$/.test(name),
  );
  await mkdir(checkout);
  for (const part of [...folders, ...files])
    await cp(join(repository, part), join(checkout, part), { recursive: true });
  await symlink(join(repository, 'node_modules'), join(checkout, 'node_modules'));
}
