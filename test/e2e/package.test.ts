// The package as users get it: packed, installed into an empty project, run, imported.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const repository = resolve(import.meta.dirname, '../..');
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
};
const modules = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => `headworks${path.slice(1)}`);

let folder = '';
const checkout = () => join(folder, 'checkout');
const project = () => join(folder, 'project');
const command = () => join(project(), 'node_modules/.bin/headworks');

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, args: readonly string[], cwd: string): Promise<Answer> {
  return new Promise((done) =>
    execFile(program, args, { cwd, maxBuffer: 16 * 1024 * 1024 }, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    ),
  );
}

async function demand(program: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, cwd);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed (${code}): ${stderr}${stdout}`);
  return stdout;
}

/** A copy to build and pack in, so that the checkout under test stays as it is. */
async function copyCheckout(): Promise<void> {
  const parts = ['bin', 'src', 'web', 'scripts', 'docs', 'LICENSE', 'README.md', 'ARCHITECTURE.md', '.npmrc'];
  for (const part of [...parts, 'package.json', 'tsconfig.json', 'tsconfig.build.json'])
    await cp(join(repository, part), join(checkout(), part), { recursive: true });
  await symlink(join(repository, 'node_modules'), join(checkout(), 'node_modules'));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headworks-package-'));
  await mkdir(checkout());
  await mkdir(project());
  await copyCheckout();
  await demand('npm', ['pack', '--silent', '--pack-destination', folder], checkout());
  await writeFile(join(project(), 'package.json'), '{"private":true,"type":"module"}');
  const tarball = join(folder, `headworks-${manifest.version}.tgz`);
  await demand(
    'npm',
    ['install', '--silent', '--prefer-offline', '--no-audit', '--no-fund', tarball],
    project(),
  );
}, 300_000);

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the installed package', () => {
  it('says its version', async () => {
    expect((await demand(command(), ['--version'], project())).trim()).toBe(manifest.version);
  });

  it('lists its commands', async () => {
    const help = await demand(command(), ['--help'], project());
    for (const name of ['serve', 'worker', 'demo', 'doctor', 'config', 'ledger', 'repair', 'jobs'])
      expect(help).toMatch(new RegExp(`^ +${name}\\b`, 'm'));
  });

  it('holds what it needs to run, and no tests', async () => {
    const listed = await demand('tar', ['-tzf', join(folder, `headworks-${manifest.version}.tgz`)], folder);
    expect(listed).toContain('package/LICENSE');
    expect(listed).toMatch(/^package\/dist\/.*\.sql$/m);
    expect(listed).toMatch(/^package\/dist\/operations\/demo\/documents\/.*\.eml$/m);
    expect(listed).toMatch(/^package\/dist\/operations\/demo\/documents\/.*\.markdown$/m);
    const files = listed.split('\n');
    expect(files.filter((file) => /\.(test|contract)\.|\/contract\//.test(file))).toEqual([]);
    expect(files.filter((file) => /^package\/(src|test|scripts)\//.test(file))).toEqual([]);
  });

  it.for(modules)('can be imported as %s', async (name) => {
    const script = `console.log(Object.keys(await import('${name}')).length)`;
    const count = await demand(process.execPath, ['--input-type=module', '-e', script], project());
    expect(Number(count)).toBeGreaterThan(0);
  });

  it('gives TypeScript users its types', async () => {
    const lines = [
      `import { CoreError } from 'headworks/core';`,
      `import { BoundedQueue } from 'headworks/resilience';`,
      `import type { ExtractionResult } from 'headworks/extraction';`,
      `import { runExtraction } from 'headworks/extraction';`,
      `const error: CoreError = new CoreError('INTERNAL', 'text');`,
      `export const code: 'INTERNAL' | string = error.code;`,
      `// @ts-expect-error: the types are known, so this is seen to be wrong`,
      `export const wrong: number = error.code;`,
      `// @ts-expect-error: as is this`,
      `export const queue: string = BoundedQueue;`,
      `export const session = (result: ExtractionResult): string => result.session;`,
      `// @ts-expect-error: and this`,
      `export const run: string = runExtraction;`,
    ];
    await writeFile(join(project(), 'use.ts'), lines.join('\n'));
    const tsc = join(repository, 'node_modules/.bin/tsc');
    const types = ['--typeRoots', join(repository, 'node_modules/@types'), '--types', 'node'];
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2025', '--skipLibCheck'];
    await demand(tsc, [...options, ...types, 'use.ts'], project());
  });

  it('tells an older Node in one line what is needed', async () => {
    const old = await oldNode();
    const { code, stdout, stderr } = await run(old.program, [...old.args, command(), '--version'], project());
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(
      /^headworks needs Node\.js 24 or newer, and this is \d+\.\d+\.\d+\. .*nodejs\.org.*\n$/,
    );
  });
});

describe('a checkout that was not built', () => {
  it('runs its sources', async () => {
    await rm(join(checkout(), 'dist'), { recursive: true, force: true });
    const said = await demand(process.execPath, ['bin/headworks.cjs', '--version'], checkout());
    expect(said.trim()).toBe(manifest.version);
  });
});

/** An older Node of this system; if there is none, ours that claims to be one. */
async function oldNode(): Promise<{ program: string; args: readonly string[] }> {
  for (const place of (process.env['PATH'] ?? '').split(delimiter)) {
    const program = join(place, 'node');
    if (!existsSync(program)) continue;
    const { stdout } = await run(program, ['--version'], folder);
    if (Number.parseInt(stdout.slice(1), 10) < 24) return { program, args: [] };
  }
  const pretend = join(folder, 'pretend.cjs');
  await writeFile(pretend, `Object.defineProperty(process.versions, 'node', { value: '18.20.0' });`);
  return { program: process.execPath, args: ['-r', pretend] };
}
