import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/services.ts';
import { listOptions, optionSections } from './config.ts';
import { parseConfigText, readConfigFile } from './config-file.ts';

const options = listOptions(optionSections);
const parse = (text: string) => parseConfigText(text, 'headworks.yaml', options);

describe('parseConfigText', () => {
  it('returns each option with its line', () => {
    const { values, problems } = parse('# mine\nserver:\n  port: 9000\n\nlogging:\n  level: debug\n');
    expect(problems).toEqual([]);
    expect([...values]).toEqual([
      ['server.port', { raw: '9000', line: 3 }],
      ['logging.level', { raw: 'debug', line: 6 }],
    ]);
  });

  it('returns scalars as written, so that no digit of a secret is lost', () => {
    const { values } = parse('server:\n  adminToken: 01234567890123456789\n  host: "no"\n  port: 1e3\n');
    expect([...values.values()].map(({ raw }) => raw)).toEqual(['01234567890123456789', 'no', '1e3']);
  });

  it('reads lists and follows anchors', () => {
    const { values } = parse('server:\n  allowedHosts: &h [a.example, 10.0.0.1]\n  allowedOrigins: *h\n');
    expect(values.get('server.allowedHosts')?.raw).toEqual(['a.example', '10.0.0.1']);
    expect(values.get('server.allowedOrigins')?.raw).toEqual(['a.example', '10.0.0.1']);
  });

  it('resolves an alias to the written text, also for a section', () => {
    const { values, problems } = parse('server: &s\n  port: &p 1e3\nlogging:\n  level: *p\n');
    expect(problems).toEqual([]);
    expect(values.get('logging.level')).toEqual({ raw: '1e3', line: 4 });
    // The same options are reported as unknown there.
    expect(parse('server: &s\n  port: 1\nlogging: *s\n').problems).toEqual([
      expect.stringContaining('there is no option "logging.port"'),
    ]);
  });

  it.each([
    '',
    '# nothing\n',
    '---\n',
    'server:\n',
    'server:\n  port:\n',
    'server: ~\n',
    'server:\n  port: null\n',
  ])('treats %j as empty', (text) => expect(parse(text)).toEqual({ values: new Map(), problems: [] }));

  it.each([
    ['servr:\n  port: 1\n', 'headworks.yaml line 1: there is no section "servr"; did you mean "server"?'],
    ['port: 1\n', 'headworks.yaml line 1: there is no section "port"; did you mean "server.port"?'],
    [
      'server:\n  prot: 1\n',
      'headworks.yaml line 2: there is no option "server.prot"; did you mean "server.port"?',
    ],
    [
      'redis:\n  databaseUrl: x\n',
      'line 2: there is no option "redis.databaseUrl"; did you mean "state.databaseUrl"?',
    ],
    ['redis:\n  xyzzy: x\n', 'no option "redis.xyzzy"; "redis" has url, keyPrefix, commandTimeoutMs.'],
    ['xyzzy: 1\n', 'there is no section "xyzzy"; there are server, client,'],
    ['__proto__:\n  port: 1\n', 'there is no section "__proto__"'],
    ['server:\n  constructor: 1\n', 'there is no option "server.constructor"'],
    ['8080: 1\n', 'there is no section "8080"'],
    [
      'server:\n  port: *p\n',
      'headworks.yaml line 2: "*p" refers to nothing: there is no "&p" above it. Put a text that begins with * in quotes.',
    ],
    ['server: *s\n', 'headworks.yaml line 1: "*s" refers to nothing'],
    ['server:\n  allowedHosts: [a.example, *h]\n', 'headworks.yaml line 2: "*h" refers to nothing'],
    [
      'server: &s\n  port: 1\nlogging:\n  <<: *s\n',
      'headworks.yaml line 4: "<<" does not merge here; write the options out.',
    ],
    ['server: 8420\n', '"server" is a section; write its options below it'],
    ['server: [port]\n', '"server" is a section; write its options below it'],
    ['- server\n', 'headworks.yaml must have sections'],
    ['just text\n', 'headworks.yaml must have sections'],
    ['server:\n\tport: 1\n', 'headworks.yaml line 2: YAML is indented with spaces; this line has a tab.'],
    ['server:\n  port: 1\n  port: 2\n', 'headworks.yaml line 3: the key is duplicate'],
    ['server:\n  port: 1\n---\nserver:\n', 'only one YAML document is read'],
    ['server:\n  host: "open\n', 'not valid YAML'],
  ])('rejects %j', (text, problem) => {
    const { problems } = parse(text);
    expect(problems.join('\n')).toContain(problem);
  });

  it('names every unknown key, not only the first', () => {
    expect(parse('a: 1\nserver:\n  b: 1\n  c: 1\n').problems).toHaveLength(3);
  });
});

describe('readConfigFile', () => {
  it('reads nothing when the working directory has no file', async () => {
    const cwd = await temporaryFolder();
    expect(readConfigFile({ given: null, cwd }, options)).toMatchObject({
      path: null,
      problems: [],
      warnings: [],
    });
  });

  it('reads headworks.yaml of the working directory', async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'headworks.yaml'), 'server:\n  port: 1\n');
    const file = readConfigFile({ given: null, cwd }, options);
    expect(file).toMatchObject({ path: join(cwd, 'headworks.yaml'), name: 'headworks.yaml', problems: [] });
    expect(file.values.size).toBe(1);
  });

  it('warns of a file with a similar name that is not read', async () => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'headworks.yml'), 'server:\n  port: 1\n');
    expect(readConfigFile({ given: null, cwd }, options).warnings).toEqual([
      'headworks.yml is not read; rename it to headworks.yaml, or give it with --config.',
    ]);
  });

  it('reports what named a file that does not exist or is a folder', async () => {
    const cwd = await temporaryFolder();
    mkdirSync(join(cwd, 'folder'));
    const given = (path: string) =>
      readConfigFile({ given: { path, by: 'given with --config' }, cwd }, options);
    expect(given('x.yaml').problems).toEqual([
      'There is no file x.yaml (given with --config); check the path.',
    ]);
    expect(given('folder').problems).toEqual([
      'folder (given with --config) is a folder; give the file itself.',
    ]);
    expect(given('../x.yaml').name).toMatch(/^\/.*x\.yaml$/);
  });
});
