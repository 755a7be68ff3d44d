// The package as users install it: packed, installed into an empty project, run, imported.
import { execFile } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { deadLinks } from '../../scripts/check-docs.ts';
import { fencedBlocks } from '../../scripts/doc-commands.ts';
import { helpDeskCredentials, startHelpDesk } from '../../examples/rest-source/server.ts';
import { installedPackage, repository, type InstalledPackage } from '../support/installed-package.ts';

const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
};
const modules = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => `headworks${path.slice(1)}`);

let folder = '';
let installed: InstalledPackage;
const checkout = () => installed.checkout;
const project = () => installed.project;
const command = () => join(project(), 'node_modules/.bin/headworks');

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 };
  return new Promise((done) =>
    execFile(program, args, options, (error, stdout, stderr) =>
      done({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    ),
  );
}

async function expectSuccess(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(program, args, cwd, env);
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed (${code}): ${stderr}${stdout}`);
  return stdout;
}

beforeAll(async () => {
  installed = await installedPackage();
  folder = await mkdtemp(join(tmpdir(), 'headworks-package-test-'));
  for (const part of ['library', 'rest-source'])
    await cp(join(project(), 'node_modules/headworks/examples', part), join(project(), part), {
      recursive: true,
    });
  // Guides show clients that are not ours.
  await symlink(join(repository, 'node_modules/openai'), join(project(), 'node_modules/openai'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('the installed package', () => {
  it('prints its version', async () => {
    expect((await expectSuccess(command(), ['--version'], project())).trim()).toBe(manifest.version);
  });

  it('lists its commands', async () => {
    const help = await expectSuccess(command(), ['--help'], project());
    for (const name of ['serve', 'worker', 'demo', 'doctor', 'config', 'ledger', 'repair', 'jobs'])
      expect(help).toMatch(new RegExp(`^ +${name}\\b`, 'm'));
  });

  it('contains what it needs to run, and no tests', async () => {
    const listed = await expectSuccess('tar', ['-tzf', installed.tarball], folder);
    expect(listed).toContain('package/LICENSE');
    expect(listed).toContain('package/monitoring/headworks-alerts.yml');
    expect(listed).toMatch(/^package\/dist\/.*\.sql$/m);
    expect(listed).toMatch(/^package\/dist\/operations\/demo\/documents\/.*\.eml$/m);
    expect(listed).toMatch(/^package\/dist\/operations\/demo\/documents\/.*\.markdown$/m);
    const files = listed.split('\n');
    expect(files.filter((file) => /\.(test|contract)\.|\/contract\//.test(file))).toEqual([]);
    expect(files.filter((file) => /^package\/(src|test|scripts)\//.test(file))).toEqual([]);
  });

  it('contains every page and file that its pages link to, and names only modules that it exports (T6)', () => {
    const root = join(project(), 'node_modules/headworks');
    const pages = globSync('**/*.md', { cwd: root, exclude: ['node_modules/**'] });
    expect(pages).toEqual(
      expect.arrayContaining(['README.md', 'docs/README.md', 'examples/library/README.md']),
    );
    const problems = pages.flatMap((page) => {
      const text = readFileSync(join(root, page), 'utf8');
      const named = [...text.matchAll(/['"`](headworks\/[a-z-]+)['"`]/g)].map(([, name = '']) => name);
      return [
        ...deadLinks(page, text, root),
        ...named.filter((name) => !modules.includes(name)).map((name) => `there is no ${name}`),
      ].map((problem) => `${page}: ${problem}`);
    });
    expect(problems).toEqual([]);
  });

  it.for(modules)('can be imported as %s', async (name) => {
    const script = `console.log(Object.keys(await import('${name}')).length)`;
    const count = await expectSuccess(process.execPath, ['--input-type=module', '-e', script], project());
    expect(Number(count)).toBeGreaterThan(0);
  });

  it('has an example for every export', () => {
    expect(exportedExamples().filter(({ code }) => code === null)).toEqual([]);
  });

  it('type-checks the example scripts, the example of every export and those of the guide in a strict project', async () => {
    for (const [index, code] of Object.values(await everyExample()).entries())
      await writeFile(join(project(), `example-${index}.ts`), code);
    await writeFile(
      join(project(), 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          noEmit: true,
          module: 'nodenext',
          target: 'es2025',
          verbatimModuleSyntax: false,
          types: ['node'],
          typeRoots: [join(repository, 'node_modules/@types')],
        },
        include: ['*.ts', 'library/*.ts'],
      }),
    );
    await expectSuccess(join(repository, 'node_modules/.bin/tsc'), ['-p', '.'], project());
  });

  it('runs the example of every export and those of the guide', async () => {
    const examples = join(folder, 'examples.json');
    await writeFile(examples, JSON.stringify(await everyExample()));
    await cp(join(repository, 'test/support/run-examples.ts'), join(project(), 'run-examples.ts'));
    const args = ['run-examples.ts', examples, inject('embeddedTemplate')];
    const printed = await expectSuccess(process.execPath, args, project());
    const { count, failures } = JSON.parse(printed.trim().split('\n').at(-1) ?? '') as {
      readonly count: number;
      readonly failures: readonly string[];
    };
    expect(failures).toEqual([]);
    expect(count).toBeGreaterThan(40);
  });

  it('reports a wrong type to TypeScript users', async () => {
    const lines = [
      `import { createRateLimiter } from 'headworks/resilience';`,
      `// @ts-expect-error: the types are known, so this is an error`,
      `createRateLimiter({ perSecond: 'ten' });`,
    ];
    await writeFile(join(project(), 'wrong.ts'), lines.join('\n'));
    const types = ['--types', 'node', '--typeRoots', join(repository, 'node_modules/@types')];
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2025', '--ignoreConfig'];
    await expectSuccess(
      join(repository, 'node_modules/.bin/tsc'),
      [...options, ...types, 'wrong.ts'],
      project(),
    );
  });

  it('extracts a REST source in a script', async () => {
    const helpDesk = await startHelpDesk();
    try {
      const { user, password } = helpDeskCredentials;
      const printed = await runExample(
        'extract',
        {
          HELPDESK_URL: helpDesk.url,
          HELPDESK_USER: user,
          HELPDESK_PASSWORD: password,
        },
        ['rest-source/helpdesk.yaml'],
      );
      expect(printed).toMatch(/^completed: 80 items in \d+ calls$/m);
      expect(printed).toContain('projects R&D Project R&D');
    } finally {
      await helpDesk.stop();
    }
  });

  it('completes a prompt with the second model when the first one fails', async () => {
    const primary = await serve((_, response) =>
      response.writeHead(500).end('{"error":{"message":"broken"}}'),
    );
    const message = { role: 'assistant', content: 'Elbe, Oder, Spree' };
    const backup = await serve((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          id: '1',
          model: 'backup',
          choices: [{ index: 0, message, finish_reason: 'stop' }],
        }),
      ),
    );
    try {
      const printed = await runExample('complete', { PRIMARY_URL: primary.url, BACKUP_URL: backup.url });
      expect(printed).toBe('backup: Elbe, Oder, Spree\n');
      expect(primary.requests).toBeGreaterThan(0);
    } finally {
      await primary.stop();
      await backup.stop();
    }
  });

  it('holds slots in a script, never more than the limit', async () => {
    const running = [...(await runExample('slots')).matchAll(/: (\d+) running$/gm)].map(([, count]) =>
      Number(count),
    );
    expect(running).toHaveLength(10);
    expect(Math.max(...running)).toBe(2);
  });

  it('ingests and searches in a script', async () => {
    const [first = ''] = (await runExample('search')).split('\n');
    expect(first).toMatch(/^\d+\.\d\d Minutes Ada Lovelace decided/);
  });

  it('calls an API within its rate limit in a script', async () => {
    let calls = 0;
    const api = await serve((_, response) => {
      calls += 1;
      if (calls === 1) response.writeHead(429, { 'retry-after-ms': '50' }).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
    });
    try {
      expect(await runExample('rate-limit', { API_URL: api.url })).toBe('{ ok: true }\n'.repeat(3));
      expect(calls).toBe(4);
    } finally {
      await api.stop();
    }
  });

  it('starts a server and calls it with the typed client in a script', async () => {
    expect(await runExample('server')).toMatch(/^http:\/\/127\.0\.0\.1:\d+ has 0 organizations\n$/);
  });

  it('prints the required Node version in one line when started with an older one', async () => {
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
    const output = await expectSuccess(process.execPath, ['bin/headworks.cjs', '--version'], checkout());
    expect(output.trim()).toBe(manifest.version);
  });
});

/** An older Node of this system; if there is none, this one with a fake version. */
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

/** Runs a script of examples/library, copied from the installed package, and returns what it printed. */
const runExample = (
  name: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): Promise<string> =>
  expectSuccess(process.execPath, [join('library', `${name}.ts`), ...args], project(), env);

/** A server of the test's own, not one of our simulators. */
async function serve(handle: (request: IncomingMessage, response: ServerResponse) => unknown) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => handle(request, response));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    stop: () => new Promise((done) => server.close(done)),
  };
}

interface Example {
  readonly module: string;
  /** Everything that the module exports, and which of that are only types. */
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly name: string;
  /** Null when the export has no `@example`. */
  readonly code: string | null;
}

/** By their names: modules with the example of every export, and every `ts` block of the guide. */
async function everyExample(): Promise<Readonly<Record<string, string>>> {
  const ofExports = exportedExamples().map(({ module, names, types, name, code }) => [
    `${name} of ${module}`,
    `import { ${names.map((each) => (types.includes(each) ? `type ${each}` : each)).join(', ')} } from '${module}';\n{\n${code ?? ''}\n}\nexport {};\n`,
  ]);
  const guide = join(repository, 'docs/guide');
  const pages = (await readdir(guide)).filter((page) => page.endsWith('.md'));
  const ofGuide = await Promise.all(
    pages.map(async (page) =>
      [...fencedBlocks(await readFile(join(guide, page), 'utf8'))]
        .filter(({ language }) => language === 'ts')
        .map(({ line, lines }) => [`${page} line ${line}`, `${lines.join('\n')}\n`]),
    ),
  );
  return Object.fromEntries([...ofExports, ...ofGuide.flat()]) as Record<string, string>;
}

/** The example in the doc comment of every public export. */
function exportedExamples(): readonly Example[] {
  return modules.flatMap((module) => {
    const declared = manifest.exports[module.replace('headworks', '.')] as { readonly types: string };
    const entry = join(repository, declared.types.replace('./dist/', 'src/').replace('.d.ts', '.ts'));
    const exported = exportsOf(entry);
    const names = exported.map(({ name }) => name);
    const types = exported.filter(({ isType }) => isType).map(({ name }) => name);
    return exported.map(({ name, code }) => ({ module, names, types, name, code }));
  });
}

interface Exported {
  readonly name: string;
  readonly isType: boolean;
  readonly code: string | null;
}

function exportsOf(file: string): readonly Exported[] {
  const text = readFileSync(file, 'utf8');
  const declared = [
    ...text.matchAll(
      /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:async )?(function\*?|class|interface|const|type) (\w+)/g,
    ),
  ].map(([, comment = '', kind = '', name = '']) => ({
    name,
    isType: kind === 'interface' || kind === 'type',
    code: exampleIn(comment),
  }));
  const passedOn = [...text.matchAll(/^export (?:type )?\{([^}]+)\} from '([^']+)';/gm)].flatMap(
    ([, names = '', path = '']) => {
      const all = exportsOf(join(dirname(file), path));
      return names
        .split(',')
        .flatMap((part) => all.filter(({ name }) => name === part.trim().replace(/^type /, '')));
    },
  );
  return [...declared, ...passedOn];
}

function exampleIn(comment: string): string | null {
  const [, code] = /@example\s([\s\S]*?)(?=\n \* @|\*\/)/.exec(comment) ?? [];
  return code?.replaceAll(/^ \* ?/gm, '').trim() ?? null;
}
