import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  describeConfig,
  listOptions,
  optionReference,
  optionSections,
  secretsOf,
  valueText,
} from './config.ts';
import { resolveConfig } from './resolve-config.ts';

const resolve = (env: Record<string, string>) => resolveConfig({ env, cwd: '/nonexistent-for-tests' });
const rowOf = (env: Record<string, string>, path: string) =>
  describeConfig(resolve(env)).options.find(({ name }) => name === path);

describe('describeConfig', () => {
  it('shows each value with its source, variables, flag, and what is allowed', () => {
    expect(rowOf({ HEADWORKS_PORT: '9000' }, 'server.port')).toEqual({
      name: 'server.port',
      value: 9000,
      source: 'env',
      sourceName: 'HEADWORKS_PORT',
      env: ['HEADWORKS_PORT'],
      flag: '--port',
      allowed: 'a whole number from 0 to 65535',
      default: '8420',
      description: 'Port to listen on; 0 uses any free port. A worker uses any free port unless it is set.',
      isSecret: false,
    });
  });

  it('shows the address of a secret URL, but not the credentials', () => {
    const row = rowOf(
      { DATABASE_URL: 'postgres://me:hunter22@db.example:5432/app?sslkey=x' },
      'state.databaseUrl',
    );
    expect(row?.value).toBe('postgres://[hidden]@db.example:5432/app');
  });

  it('shows nothing of another secret, and null where there is none', () => {
    expect(rowOf({ HEADWORKS_ADMIN_TOKEN: '0123456789abcdef' }, 'server.adminToken')?.value).toBe('[hidden]');
    expect(rowOf({}, 'server.adminToken')?.value).toBeNull();
  });

  it('hides the password in a URL that is not itself a secret', () => {
    expect(rowOf({ HEADWORKS_URL: 'https://u:hunter22@h.example' }, 'client.serverUrl')?.value).toBe(
      'https://[hidden]@h.example/',
    );
    expect(rowOf({ HEADWORKS_URL: 'https://h.example' }, 'client.serverUrl')?.value).toBe(
      'https://h.example',
    );
  });

  it('never shows a secret, whatever its characters', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6, maxLength: 30 }), (password) => {
        const written = encodeURIComponent(password.replaceAll(/[\ud800-\udfff]/g, 'x'));
        const config = resolve({
          DATABASE_URL: `postgres://:${written}@h/d?password=${written}`,
          REDIS_URL: `redis://:${written}@h`,
          HEADWORKS_URL: `http://u:${written}@h`,
        });
        const urls = describeConfig(config).options.filter(({ source }) => source === 'env');
        expect(urls.map((row) => row.value)).toEqual([
          'http://[hidden]@h/',
          'postgres://[hidden]@h/d',
          'redis://[hidden]@h',
        ]);
        expect(secretsOf(config)).toContain(decodeURIComponent(written));
      }),
    );
  });
});

describe('secretsOf', () => {
  it('returns tokens, URLs, and the passwords in them, as written and decoded', () => {
    const secrets = secretsOf(
      resolve({
        HEADWORKS_ADMIN_TOKEN: '0123456789abcdef',
        DATABASE_URL: 'postgres://me:p%40ss%2Fword@db/app',
        REDIS_URL: 'redis://h?password=other-one',
        HEADWORKS_URL: 'https://u:third%2@h',
      }),
    );
    expect(new Set(secrets)).toEqual(
      new Set([
        '0123456789abcdef',
        'postgres://me:p%40ss%2Fword@db/app',
        'p%40ss%2Fword',
        'p@ss/word',
        'redis://h?password=other-one',
        'other-one',
        'third%2',
      ]),
    );
  });

  it('returns nothing when there is none', () => expect(secretsOf(resolve({}))).toEqual([]));
});

describe('valueText', () => {
  it.each([
    [null, 'not set'],
    [[], 'none'],
    [['a', 'b'], 'a, b'],
    [true, 'true'],
    ['text', 'text'],
  ])('writes %j as %s', (value, text) => expect(valueText(value)).toBe(text));
});

describe('optionReference', () => {
  it('names every option with its variables and flag', () => {
    const page = optionReference();
    for (const { path, spec } of listOptions(optionSections)) {
      expect(page).toContain(`\`${path}\``);
      for (const name of spec.env) expect(page).toContain(`\`${name}\``);
      const no = spec.default === true ? 'no-' : '';
      if (spec.flag !== undefined) expect(page).toContain(`\`--${no}${spec.flag}\``);
    }
  });

  it('equals docs/reference/configuration.md; otherwise run "npm run docs"', () => {
    const page = readFileSync(new URL('../../docs/reference/configuration.md', import.meta.url), 'utf8');
    expect(page).toBe(optionReference());
  });
});
