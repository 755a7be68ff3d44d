import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/services.ts';
import { CoreError } from '../core/errors.ts';
import { defineOptions, numberOption, textOption } from '../core/options.ts';
import { optionSections } from './config.ts';
import type { ConfigInput } from './resolve-config.ts';
import { resolveConfig, resolveSections } from './resolve-config.ts';

const nowhere = '/nonexistent-for-tests';
const resolve = (input: Partial<ConfigInput> = {}) => resolveConfig({ cwd: nowhere, ...input });

function problemsOf(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof CoreError && error.code === 'CONFIG_INVALID')
      return error.details['problems'] as readonly string[];
    throw error;
  }
  throw new Error('It was accepted.');
}

describe('resolveConfig', () => {
  it('returns every default when nothing is set', () => {
    const config = resolve();
    expect(config.server).toMatchObject({ host: '127.0.0.1', port: 8420, adminToken: null });
    expect(config.data.folder).toBe(join(nowhere, '.headworks'));
    expect(config.resolution).toMatchObject({ file: null, warnings: [] });
  });

  it('truncates a long value, so that the problem stays visible', () => {
    const good = { name: 'good', baseUrl: 'http://127.0.0.1:1/v1', model: 'x'.repeat(150) };
    const env = { HEADWORKS_GATEWAY_MODELS: JSON.stringify([good, { name: 'acme/large' }]) };
    const [problem = ''] = problemsOf(() => resolve({ env }));
    expect(problem).toContain('model 2 (acme/large): baseUrl is missing');
    expect(problem).not.toContain('x'.repeat(50));
  });

  it('prefers flag to environment, environment to file, file to default, for every subset of sources', async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'headworks.yaml'), 'server:\n  port: 3\n');
    const empty = await temporaryFolder();
    fc.assert(
      fc.property(fc.boolean(), fc.boolean(), fc.boolean(), (flag, env, file) => {
        const config = resolve({
          flags: flag ? { port: '1' } : {},
          env: env ? { HEADWORKS_PORT: '2' } : {},
          cwd: file ? cwd : empty,
        });
        const expected = flag ? [1, 'flag'] : env ? [2, 'env'] : file ? [3, 'file'] : [8420, 'default'];
        expect([config.server.port, config.resolution.origins['server.port']?.kind]).toEqual(expected);
      }),
    );
  });

  it('reads the file named by --config rather than the one named by HEADWORKS_CONFIG', async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'a.yaml'), 'server:\n  port: 1\n');
    writeFileSync(join(cwd, 'b.yaml'), 'server:\n  port: 2\n');
    expect(resolve({ cwd, env: { HEADWORKS_CONFIG: 'b.yaml' } }).server.port).toBe(2);
    expect(resolve({ cwd, env: { HEADWORKS_CONFIG: 'b.yaml' }, file: 'a.yaml' }).server.port).toBe(1);
  });

  it('treats an empty variable as not set', () => {
    expect(resolve({ env: { HEADWORKS_PORT: '', DATABASE_URL: '', HEADWORKS_CONFIG: '' } }).server.port).toBe(
      8420,
    );
  });

  it('resolves relative paths from the working directory, or from the folder of their file', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'headworks.yaml');
    writeFileSync(file, 'data:\n  folder: kept\n');
    expect(resolve({ file }).data.folder).toBe(join(folder, 'kept'));
    expect(resolve({ file, flags: { 'data-dir': 'other' } }).data.folder).toBe(join(nowhere, 'other'));
    expect(resolve({ env: { HEADWORKS_DATA_DIR: '/srv/h' } }).data.folder).toBe('/srv/h');
  });

  it('prefers the overrides of a command to every other source', () => {
    const config = resolve({
      env: { DATABASE_URL: 'not even a url' },
      overrides: { command: 'demo', values: { 'state.databaseUrl': null } },
    });
    expect(config.state.databaseUrl).toBeNull();
    expect(config.resolution.origins['state.databaseUrl']).toEqual({ kind: 'command', command: 'demo' });
  });

  it('reports all problems together, each with option, variable, source, value and what is allowed', async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'headworks.yaml'), 'server:\n  host: http://x\n  prot: 1\n');
    const problems = problemsOf(() =>
      resolve({
        cwd,
        flags: { 'log-level': 'loud' },
        env: { HEADWORKS_PORT: '80a', DATABASE_URL: 'mysql://u:hunter2@h' },
      }),
    );
    expect(problems).toEqual([
      'headworks.yaml line 3: there is no option "server.prot"; did you mean "server.port"?',
      'server.host (--host, HEADWORKS_HOST): "http://x" from headworks.yaml line 2 must be a host name or address, without scheme and port.',
      'server.port (--port, HEADWORKS_PORT): "80a" from env HEADWORKS_PORT must be a whole number from 0 to 65535. Default: 8420.',
      expect.stringMatching(
        /^state\.databaseUrl \(DATABASE_URL\): the value \(not shown\) from env DATABASE_URL must be/,
      ),
      'logging.level (--log-level, HEADWORKS_LOG_LEVEL): "loud" from flag --log-level must be one of debug, info, warn, error, silent.',
    ]);
    expect(problems.join()).not.toContain('hunter2');
  });

  it('reports a single problem in one line', () => {
    expect(() => resolve({ flags: { port: '-1' } })).toThrow(
      /^The configuration is not valid: server\.port .* from flag --port must be a whole number from 0 to 65535\. Default: 8420\.$/,
    );
  });

  it('never shows a secret or a password in a URL, even if it is invalid', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-zA-Z0-9]{5,15}$/), (secret) => {
        const problems = problemsOf(() =>
          resolve({
            env: {
              HEADWORKS_ADMIN_TOKEN: `${secret} `.repeat(3),
              DATABASE_URL: `x://u:${secret}@h`,
              REDIS_URL: secret,
              HEADWORKS_URL: `ftp://u:${secret}@h`,
            },
          }),
        );
        expect(problems).toHaveLength(4);
        expect(problems.join().replaceAll(/[\w.]+ \([^)]*\)|HEADWORKS_\w+|must be .*/g, '')).not.toContain(
          secret,
        );
      }),
    );
  });

  it('warns about unknown variables and about secrets in the file', async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'headworks.yaml'), 'server:\n  adminToken: 0123456789abcdef\n');
    const { resolution, server } = resolve({
      cwd,
      env: { HEADWORKS_PROT: '1', HEADWORKS_XYZZY: 'x', PORT: '1' },
    });
    expect(server.adminToken).toBe('0123456789abcdef');
    expect(resolution.warnings).toEqual([
      'The environment variable HEADWORKS_PROT has no effect; did you mean HEADWORKS_PORT?',
      'The environment variable HEADWORKS_XYZZY has no effect; unset it.',
      'server.adminToken is a secret in headworks.yaml line 2; set HEADWORKS_ADMIN_TOKEN instead.',
    ]);
  });

  it('freezes everything, deeply', () => {
    const config = resolve({ env: { HEADWORKS_ALLOWED_HOSTS: 'a,b' } });
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      Object.values(value).forEach(walk);
    };
    walk(config);
    expect(config.server.allowedHosts).toEqual(['a', 'b']);
  });
});

describe('resolveSections', () => {
  const sections = {
    span: defineOptions({
      section: 'span',
      describe: 'From and to.',
      fields: {
        from: numberOption({ describe: '', env: 'FROM', default: 1, min: 0, max: 9 }),
        to: numberOption({ describe: '', env: ['TO', 'OLD_TO'], default: 5, min: 0, max: 9 }),
        name: textOption({ describe: '', env: 'NAME', default: null }),
      },
      check: ({ from, to }) =>
        from > to ? [{ field: 'to', problem: `must not be below span.from (${from})` }] : [],
    }),
  };
  const run = (env: Record<string, string>) => resolveSections(sections, { env, cwd: nowhere });

  it('checks rules between options and names the source of the value', () => {
    expect(problemsOf(() => run({ FROM: '4', OLD_TO: '3' }))).toEqual([
      'span.to (TO, OLD_TO): 3 from env OLD_TO must not be below span.from (4).',
    ]);
  });

  it('does not check them on invalid values', () => {
    expect(problemsOf(() => run({ FROM: 'x', TO: '0' }))).toHaveLength(1);
  });

  it('uses the first of several variables that is set', () => {
    expect(run({ TO: '', OLD_TO: '6' }).span.to).toBe(6);
    expect(run({ TO: '7', OLD_TO: '6' }).span.to).toBe(7);
  });
});

describe('optionSections', () => {
  const options = Object.entries(optionSections);

  it('are keyed by their own names', () => {
    for (const [name, section] of options) expect(section.section).toBe(name);
  });

  it('share no flag and no variable', () => {
    const specs = options.flatMap(([, { fields }]) => Object.values(fields));
    const names = specs.flatMap((spec) => [...spec.env, ...(spec.flag === undefined ? [] : [spec.flag])]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('offer no flag for a secret, because process lists show flags', () => {
    const specs = options.flatMap(([, { fields }]) => Object.values(fields));
    expect(specs.filter((spec) => spec.secret && spec.flag !== undefined)).toEqual([]);
  });

  it('accept their own defaults', () => {
    for (const spec of options.flatMap(([, { fields }]) => Object.values(fields)))
      if (spec.default !== null && spec.default !== '')
        expect(spec.parse(spec.default)).toHaveProperty('value');
  });
});

it('rejects a URL whose password is not encoded, without showing a part of it', () => {
  const env = {
    DATABASE_URL: 'postgres://u:p@ss/SECRETword@h/db',
    HEADWORKS_PORTT: '1',
    HEADWORKS_RETENTION_CRON: '99 99 * * *',
  };
  const resolve = () => resolveConfig({ flags: {}, env, cwd: '/' });
  expect(resolve).toThrow(/state\.databaseUrl.*percent-encoded/s);
  expect(resolve).toThrow(/HEADWORKS_PORTT has no effect; did you mean HEADWORKS_PORT\?/);
  expect(resolve).toThrow(/HEADWORKS_RETENTION_CRON.*99 99.*five fields/s);
  expect(resolve).not.toThrow(/SECRETword/);
});
