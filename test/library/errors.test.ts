// Errors of the domains, as users of the library see them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { extractionOptions } from '../../src/extraction/options.ts';
import { redisOptions, serverOptions } from '../../src/app/options.ts';
import { CoreError } from '../../src/core/errors.ts';
import { createAdmission } from '../../src/library/admission.ts';
import { libraryError, settingNames } from '../../src/library/boundary.ts';
import { extract, openVault } from '../../src/library/extraction.ts';
import { createGateway } from '../../src/library/gateway.ts';
import { createKnowledge } from '../../src/library/knowledge.ts';
import { HeadworksError, startServer } from '../../src/library/server.ts';
import { ownDatabase } from '../support/own-database.ts';

let folder = '';
let database: Awaited<ReturnType<typeof ownDatabase>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headworks-library-'));
  database = await ownDatabase();
  const source =
    'name: shop\nbase_url: http://127.0.0.1:1\nresources:\n  - { name: books, path: /books, id: id }\n';
  await writeFile(join(folder, 'shop.yaml'), source);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await database.drop();
});

const at = (name: string): string => join(folder, name);
const aborted = AbortSignal.abort(new Error('not needed any more'));
const canceled = { code: 'CANCELED', message: 'The signal was aborted.', cause: aborted.reason as unknown };

describe('extract', () => {
  const vault = () => ({ vault: at('shop.vault'), dataFolder: at('extraction') });

  it('names the missing file, without a flag', async () => {
    await expect(extract({ ...vault(), source: at('nope.yaml') })).rejects.toMatchObject({
      code: 'EXTRACTION_SOURCE_INVALID',
      message: `The source file ${at('nope.yaml')} does not exist. Check the path.`,
    });
  });

  it('names an unknown type and the types of the source', async () => {
    const source = at('shop.yaml');
    await expect(extract({ ...vault(), source, types: ['film'] })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'types: there is no type "film"; this source has books.',
    });
  });

  it('names env for a variable that is not in it, and counts resources from 1', async () => {
    const text = 'name: shop\nbase_url: http://${HOST}\nresources:\n  - { name: books, path: /books }\n';
    await writeFile(at('variables.yaml'), text);
    const error: unknown = await extract({ ...vault(), source: at('variables.yaml') }).catch(
      (each: unknown) => each,
    );
    expect((error as HeadworksError).message.split('\n')).toEqual([
      'The source has 2 problems:',
      expect.stringMatching(/line 2: base_url: HOST is not in env\.$/),
      expect.stringMatching(/line 4: resource 1 \(books\): id: is missing\.$/),
    ]);
  });

  it('rejects more calls per second than per minute', async () => {
    const rates = { ratePerMinute: 5, ratePerSecond: 6 };
    await expect(extract({ ...vault(), source: at('shop.yaml'), ...rates })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'ratePerSecond must not be above ratePerMinute.',
    });
  });

  it('fails with CANCELED when its signal is aborted', async () => {
    const request = extract({ ...vault(), source: at('shop.yaml'), signal: aborted });
    await expect(request).rejects.toMatchObject(canceled);
  });
});

describe('openVault', () => {
  it('reads what was extracted, names an unknown type, and fails with CLOSED after close', async () => {
    const api = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1,"title":"Walden"}]'),
    ).listen(0, '127.0.0.1');
    onTestFinished(() => void api.close());
    await new Promise((resolve) => api.once('listening', resolve));
    const { port } = api.address() as AddressInfo;
    const source = `name: local\nbase_url: http://127.0.0.1:${port}\nresources:\n  - { name: books, path: /books, id: id }\n`;
    await writeFile(at('local.yaml'), source);
    const options = { source: at('local.yaml'), vault: at('local.vault'), dataFolder: at('extraction') };
    expect(await extract(options)).toMatchObject({ state: 'completed', items: 1 });
    const vault = openVault(options.vault);
    expect(vault.types()).toEqual(['books']);
    expect([...vault.items('books')]).toMatchObject([{ id: '1', data: { title: 'Walden' } }]);
    expect(() => vault.items('film')).toThrow(/has no items of the type film\. It has books\.$/);
    const unread = vault.items('books');
    vault.close();
    const closed = expect.objectContaining({
      code: 'CLOSED',
      message: 'This vault is closed. Use another one.',
    }) as Error;
    expect(() => vault.types()).toThrow(closed);
    expect(() => [...unread]).toThrow(closed);
  });

  it('names the file that is not there', () => {
    expect(() => openVault(at('nope.vault'))).toThrow(
      expect.objectContaining({
        code: 'SQLITE_UNUSABLE',
        message: expect.stringContaining('nope.vault') as string,
      }) as Error,
    );
  });
});

describe('createAdmission', () => {
  it.for(['redis://127.0.0.1/database', 'foo'])('names redisUrl when it is %s', async (redisUrl) => {
    await expect(createAdmission({ redisUrl })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/^redisUrl (?:is not|must be) /) as string,
    });
  });

  it('fails with CANCELED when the signal of acquire is aborted, also while it waits', async () => {
    const admission = await createAdmission({ limits: { acme: 1 } });
    onTestFinished(() => admission.close());
    await expect(admission.acquire('acme', { signal: aborted })).rejects.toMatchObject(canceled);
    await admission.acquire('acme');
    const aborting = new AbortController();
    const waiting = admission.acquire('acme', { waitMs: 60_000, signal: aborting.signal });
    aborting.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELED', message: 'The signal was aborted.' });
  });
});

describe('createGateway', () => {
  it('names env, the models it has, the signal, and that it is closed', async () => {
    const gateway = await createGateway({ databaseUrl: database.url });
    onTestFinished(() => gateway.close());
    const complete = (request: object = {}) => gateway.complete({ prompt: 'Hi', ...request });
    await expect(complete()).rejects.toMatchObject({
      code: 'GATEWAY_NOT_CONFIGURED',
      message: expect.stringMatching(
        /^No suitable model has a key\. Pass one of these in env: .*GROQ_API_KEY.*; or a model that needs no key in models\.$/,
      ) as string,
    });
    await expect(complete({ model: 'nope' })).rejects.toMatchObject({
      code: 'GATEWAY_MODEL_NOT_FOUND',
      message: expect.stringMatching(
        /^There is no model "nope"\. .* No model of this gateway has a key\.$/,
      ) as string,
    });
    await expect(complete({ signal: aborted })).rejects.toMatchObject(canceled);
    await gateway.close();
    const closed = { code: 'CLOSED', message: 'This gateway is closed. Use another one.' };
    await expect(complete()).rejects.toMatchObject(closed);
    await expect(gateway.embed({ model: 'x', texts: ['x'] })).rejects.toMatchObject(closed);
    await gateway.close();
  });

  it('lists the models it has when another one is requested', async () => {
    const models = [{ name: 'mine', baseUrl: 'http://127.0.0.1:1/v1' }];
    const gateway = await createGateway({ databaseUrl: database.url, models });
    onTestFinished(() => gateway.close());
    await expect(gateway.complete({ prompt: 'Hi', model: 'nope' })).rejects.toMatchObject({
      code: 'GATEWAY_MODEL_NOT_FOUND',
      message: expect.stringMatching(/ Models of this gateway: mine\.$/) as string,
    });
  });

  it('names databaseUrl when the server has no such database', async () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    const error: unknown = await createGateway({ databaseUrl: url.href }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HeadworksError);
    expect((error as HeadworksError).message).toMatch(/or correct its name in databaseUrl\.$/);
  });
});

describe('createKnowledge', () => {
  it('names the signal, and that it is closed', async () => {
    const knowledge = await createKnowledge({ databaseUrl: database.url });
    onTestFinished(() => knowledge.close());
    const document = { title: 'Menu', text: 'On Friday there is soup.' };
    await expect(knowledge.ingest(document, aborted)).rejects.toMatchObject(canceled);
    await expect(knowledge.search('soup', { signal: aborted })).rejects.toMatchObject(canceled);
    await knowledge.close();
    await expect(knowledge.ingest(document)).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(knowledge.search('soup')).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('startServer', () => {
  it('reads no configuration file, and names the port that is in use', async () => {
    await writeFile(at('headworks.yaml'), 'server:\n  prot: 1\n');
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder);
    onTestFinished(() => cwd.mockRestore());
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    await expect(
      startServer({ dataFolder: at('server'), databaseUrl: database.url, port }),
    ).rejects.toMatchObject({
      code: 'PORT_UNAVAILABLE',
      message: `Port ${port} on 127.0.0.1 is in use by another program. Choose another with port (0 uses any free port).`,
    });
  });
});

describe('names of settings in messages', () => {
  const names = {
    settings: {
      redisUrl: settingNames(redisOptions, 'url'),
      port: settingNames(serverOptions, 'port'),
      types: settingNames(extractionOptions, 'types'),
    },
  };

  it.for([
    ['Point REDIS_URL at the primary.', 'Point redisUrl at the primary.'],
    ['redis.url (REDIS_URL) is wrong.', 'redisUrl is wrong.'],
    ['Choose another with --port or HEADWORKS_PORT (0: any).', 'Choose another with port (0: any).'],
    ['extraction.types (--types, HEADWORKS_EXTRACTION_TYPES): no.', 'types: no.'],
    ['The type --types-of and MY_REDIS_URL stay.', 'The type --types-of and MY_REDIS_URL stay.'],
  ] as const)('become names of options: %s', ([before, after]) => {
    const error = libraryError(new CoreError('REDIS_UNUSABLE', before), names);
    expect(error.message).toBe(after);
    expect(error.stack).toContain(after);
  });

  it('wraps what is not an error of ours', () => {
    const cause = new TypeError('x is not a function');
    expect(libraryError(cause, names)).toMatchObject({
      code: 'INTERNAL',
      message: 'Unexpected error: x is not a function',
      cause,
    });
  });
});
