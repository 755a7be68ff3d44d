import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findViolations } from './check-boundaries.ts';

/** A source tree with these files; files that are imported but not given are created empty. */
async function tree(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const all = new Map<string, string>([
    ['package.json', '{"type":"module","devDependencies":{"vitest":"*"}}'],
  ]);
  for (const [file, text] of Object.entries(files)) {
    for (const [, imported = ''] of text.matchAll(/'(\.[^']+)'/g)) {
      const path = join(dirname(file), imported);
      if (!(path in files)) all.set(path, 'export const x = 1;\n');
    }
    all.set(file, text);
  }
  for (const [file, text] of all) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return folder;
}

const value = (path: string): string => `import { x } from '${path}';\nexport const y = x;\n`;
const type = (path: string): string => `import type { x } from '${path}';\nexport type Y = typeof x;\n`;

const allowed: readonly (readonly [file: string, imported: string])[] = [
  ['src/resilience/retry.ts', '../core/clock.ts'],
  ['src/resilience/rate-limiter/redis-window.ts', '../../platform/redis/client.ts'],
  ['src/platform/jobs/queue.ts', '../postgres/database.ts'],
  ['src/gateway/router.ts', '../resilience/index.ts'],
  ['src/gateway/router.ts', './state/scores.ts'],
  ['src/gateway/router.ts', '../ledger/index.ts'],
  ['src/gateway/state/scores.ts', '../../platform/postgres/index.ts'],
  ['src/tenancy/executions/executions.ts', '../admission/types.ts'],
  ['src/simulators/looker/server.ts', '../../resilience/queue.ts'],
  ['src/config/option-sections.ts', '../platform/postgres/options.ts'],
  ['src/api/ledger.ts', '../core/index.ts'],
  ['src/http/routes/ledger.ts', '../../ledger/index.ts'],
  ['src/http/routes/ledger.ts', '../../api/ledger.ts'],
  ['src/operations/doctor.ts', '../gateway/index.ts'],
  ['src/app/start.ts', '../gateway/open-gateway.ts'],
  ['src/cli/commands/serve.ts', '../../app/start.ts'],
  ['src/cli/commands/ledger.ts', '../../api/ledger.ts'],
  ['src/library/gateway.ts', '../gateway/open-gateway.ts'],
];

const refused: readonly (readonly [rule: string, file: string, imported: string])[] = [
  ['core', 'src/core/clock.ts', '../resilience/retry.ts'],
  ['resilience', 'src/resilience/retry.ts', '../ledger/index.ts'],
  ['platform', 'src/platform/jobs/queue.ts', '../../resilience/retry.ts'],
  ['domain', 'src/gateway/router.ts', '../knowledge/index.ts'],
  ['domain', 'src/gateway/router.ts', '../ledger/errors.ts'],
  ['domain', 'src/gateway/state/scores.ts', '../../tenancy/types.ts'],
  ['domain', 'src/ledger/ledger.ts', '../app/start.ts'],
  ['admission', 'src/tenancy/admission/limits.ts', '../executions/executions.ts'],
  ['simulators', 'src/simulators/looker/server.ts', '../../extraction/index.ts'],
  ['config', 'src/config/resolve.ts', '../ledger/index.ts'],
  ['api', 'src/api/ledger.ts', '../ledger/index.ts'],
  ['http', 'src/http/routes/ledger.ts', '../../ledger/errors.ts'],
  ['http', 'src/http/server.ts', '../platform/telemetry/metrics.ts'],
  ['http', 'src/mcp/server.ts', '../http/server.ts'],
  ['operations', 'src/operations/doctor.ts', '../app/start.ts'],
  ['app', 'src/app/start.ts', '../cli/main.ts'],
  ['cli', 'src/cli/main.ts', '../platform/postgres/index.ts'],
  ['cli-takes-types-of-domains', 'src/cli/main.ts', '../ledger/index.ts'],
  ['library', 'src/library/gateway.ts', '../http/server.ts'],
  ['no-tests-in-product', 'src/core/clock.ts', '../../test/support/services.ts'],
  ['no-tests-in-product', 'src/core/clock.ts', '../../scripts/check.ts'],
  ['tests-beside-code', 'src/core/clock.test.ts', '../../scripts/check.ts'],
];

describe('boundaries', () => {
  it.for(allowed)('%s may import %s', async ([file, imported]) => {
    expect(await findViolations(await tree({ [file]: value(imported) }))).toEqual([]);
  });

  it.for(refused)('%s: %s may not import %s', async ([rule, file, imported]) => {
    const lines = await findViolations(await tree({ [file]: value(imported) }));
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${file} → .*\\(${rule}\\)$`))]);
  });

  it('allows cli to import types of a domain', async () => {
    expect(await findViolations(await tree({ 'src/cli/main.ts': type('../ledger/index.ts') }))).toEqual([]);
  });

  it('finds imports of types, and imports at run time', async () => {
    const files = {
      'src/gateway/a.ts': type('../knowledge/index.ts'),
      'src/gateway/b.ts': `export const load = () => import('../knowledge/index.ts');\n`,
      'src/gateway/c.ts': `using x = await import('../knowledge/index.ts');\n`,
    };
    expect(await findViolations(await tree(files))).toHaveLength(3);
  });

  it('finds cycles', async () => {
    const files = { 'src/core/a.ts': value('./b.ts'), 'src/core/b.ts': value('./a.ts') };
    expect(await findViolations(await tree(files))).toContainEqual(expect.stringContaining('(no-cycle)'));
  });

  it('finds unresolvable imports, and test tools in the product', async () => {
    const files = {
      'src/core/a.ts': `import { x } from 'no-such-package';\nexport const y = x;\n`,
      'src/core/b.ts': `import { it } from 'vitest';\nexport const y = it;\n`,
      'node_modules/vitest/package.json': '{"name":"vitest","main":"index.js"}',
      'node_modules/vitest/index.js': '',
    };
    const lines = await findViolations(await tree(files));
    expect(lines).toContainEqual(expect.stringMatching(/a\.ts.*\(resolvable\)/));
    expect(lines).toContainEqual(expect.stringMatching(/b\.ts.*\(no-development-dependency\)/));
  });

  it.for(['process.env["HOME"]', 'const { env } = process;', "import { env } from 'node:process';"])(
    'finds a read of the environment outside of config: %s',
    async (text) => {
      const folder = await tree({ 'src/app/start.ts': text, 'src/config/environment.ts': text });
      expect(await findViolations(folder)).toEqual([
        'src/app/start.ts: reads process.env; only src/config does, and hands it on',
      ]);
    },
  );

  it.for([
    'export const at = new Date();',
    'export const at = Date();',
    'export const wait = globalThis.setTimeout;',
    'export const bytes = crypto.getRandomValues(new Uint8Array(1));',
    "import { setTimeout } from 'timers/promises';",
    "import { performance } from 'node:perf_hooks';",
    "import { request } from 'undici';",
    "import http from 'node:http';",
  ])('finds an indirect use of what is injected: %s', async (text) => {
    const files = { 'src/ledger/a.ts': text, 'src/app/a.ts': text, 'src/ledger/a.test.ts': text };
    const lines = await findViolations(await tree(files));
    expect(lines.filter((line) => line.includes('injected'))).toEqual([
      'src/ledger/a.ts: uses time, randomness or the network directly; they must be injected',
    ]);
  });

  it('allows dates created from numbers, and listening simulators', async () => {
    const files = {
      'src/ledger/a.ts': 'export const at = (now: number) => new Date(now);\n',
      'src/simulators/a.ts': "import http from 'node:http';\nexport const x = http;\n",
    };
    expect(await findViolations(await tree(files))).toEqual([]);
  });
});
