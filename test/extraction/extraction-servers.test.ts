// Complete extractions over HTTP from servers with faulty pagination or secrets in responses, and with a locked vault.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { InMemoryRequest } from '../support/http-client/in-memory-transport.ts';
import { extractLooker, simulatedLooker, vaultRows } from '../support/extraction-runs.ts';
import { extractRest, items, json } from '../support/rest-extraction.ts';
import { temporaryFolder } from '../support/services.ts';

const yamlFor = (pagination: string) =>
  `name: api\nbase_url: \${URL}\nresources:\n  - { name: items, path: /items, id: id, pagination: { ${pagination} } }`;

describe('a server with a page limit of its own and without a total', () => {
  it.each([
    ['type: offset', 'offset', 'limit'],
    ['type: page', 'page', 'per_page'],
  ])('is read to its end (%s)', async (pagination, place, size) => {
    const handler = ({ url }: InMemoryRequest) => {
      const limit = Math.min(30, Number(url.searchParams.get(size)));
      const at = Number(url.searchParams.get(place));
      const start = place === 'page' ? (at - 1) * limit : at;
      return json(items(200).slice(start, start + limit));
    };
    const { run } = await extractRest({ handler, yaml: yamlFor(pagination) });
    const result = await run();
    expect(result).toMatchObject({ state: 'completed', calls: 8, types: [{ held: 200 }] });
  });
});

describe('a server that returns the same page for every request', () => {
  it('ends as incomplete, with the cause', async () => {
    const { run, folder, output } = await extractRest({
      handler: () => json(items(100)),
      yaml: yamlFor('type: offset'),
      flags: { vault: 'x.vault' },
    });
    const broken = { state: 'incomplete', canRetry: false, hasBrokenLists: true };
    expect(await run()).toMatchObject({ ...broken, calls: 2, types: [{ held: 100 }] });
    const db = new DatabaseSync(join(folder, 'x.vault'), { readOnly: true });
    const letters = db.prepare('SELECT cause, message FROM dead_letters').all();
    db.close();
    expect(letters).toMatchObject([{ cause: 'repeated', message: expect.stringContaining('--fresh') }]);
    expect(output.join()).not.toContain('completed');
  });
});

describe('a server that ends child lists before the total that it sends', () => {
  const yaml = [
    'name: api',
    'base_url: ${URL}',
    'resources:',
    '  - { name: parents, path: /parents, id: id }',
    '  - name: kids',
    '    parent: parents',
    '    path: /kids/{parent.id}',
    "    id: ['{parent}', id]",
    '    pagination: { type: offset }',
    '    total: { header: X-Total }',
  ].join('\n');

  it.each([
    ['with an empty page', 'short', (): readonly object[] => []],
    ['with the same page', 'repeated', (): readonly object[] => items(100)],
  ])('%s is incomplete, and nothing is marked deleted', async (_, cause, rest) => {
    let isBroken = false;
    const handler = ({ url }: InMemoryRequest) => {
      if (url.pathname === '/parents') return json([{ id: 'A' }, { id: 'B' }]);
      const at = Number(url.searchParams.get('offset') ?? 0);
      return json(isBroken && at > 0 ? rest() : items(160).slice(at, at + 100), { 'x-total': '160' });
    };
    const { run, folder } = await extractRest({ handler, yaml, flags: { vault: 'x.vault', fresh: 'true' } });
    const kids = { type: 'kids', held: 320 };
    expect(await run()).toMatchObject({ state: 'completed', types: [{}, kids] });
    isBroken = true;
    const broken = { state: 'incomplete', canRetry: false, hasBrokenLists: true };
    expect(await run()).toMatchObject({ ...broken, types: [{}, kids] });
    expect(openLetters(folder)).toEqual([cause, cause]);
    isBroken = false;
    expect(await run()).toMatchObject({ state: 'completed', types: [{}, kids] });
    expect(openLetters(folder)).toEqual([]);
  });

  it('does not suggest a retry, also when the session is resumed', async () => {
    const handler = ({ url }: InMemoryRequest) =>
      url.pathname === '/parents' ? json([{ id: 'A' }]) : json(items(100), { 'x-total': '160' });
    const { run } = await extractRest({ handler, yaml });
    await run();
    expect(await run()).toMatchObject({ isResumed: true, calls: 0, canRetry: false, hasBrokenLists: true });
  });
});

/** The causes of unresolved failures. */
function openLetters(folder: string): readonly unknown[] {
  const db = new DatabaseSync(join(folder, 'x.vault'), { readOnly: true });
  const letters = db.prepare('SELECT cause FROM dead_letters WHERE resolved_at IS NULL').all();
  db.close();
  return letters.map(({ cause }) => cause);
}

describe('a secret', () => {
  const secret = 'hunter2-hunter2/x';
  const encoded = encodeURIComponent(secret);
  const everywhere = async (folder: string): Promise<string> => {
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = names.filter((entry) => entry.isFile());
    const contents = await Promise.all(
      files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
    );
    return [...files.map(({ name }) => name), ...contents].join('\n');
  };
  const expectNone = async (folder: string, output: readonly string[]) => {
    const text = (await everywhere(folder)) + output.join('\n');
    expect(text).toContain('extraction_sessions');
    for (const form of [secret, encoded, 'hunter2']) expect(text.includes(form)).toBe(false);
  };

  it('that a failure repeats is in no vault, event or result', async () => {
    const handler = ({ method, headers, url }: InMemoryRequest) =>
      method === 'HEAD'
        ? json([])
        : json(
            { message: `${'x'.repeat(190)} ${url.searchParams.get('key')} ${headers['authorization']}` },
            {},
            500,
          );
    const yaml = `name: api\nbase_url: \${URL}\nauth: { type: bearer, token: "\${KEY}" }\nresources:\n  - { name: items, path: /items, id: id, query: { key: "\${KEY}" } }`;
    const { run, folder, output } = await extractRest({ handler, yaml, env: { KEY: secret } });
    expect(await run()).toMatchObject({ state: 'incomplete' });
    expect(output.join()).toContain('[redacted]');
    await expectNone(folder, output);
  });

  it.each([
    ['a Link header', 'type: link'],
    ['the body', 'type: cursor, cursor_path: next'],
  ])(
    'that comes back in the address of the next page (%s) is kept by its name, and sent as it is',
    async (_, pagination) => {
      const handler = ({ method, url }: InMemoryRequest) => {
        if (method === 'HEAD') return json([]);
        if (url.searchParams.get('key') !== secret) return json({ message: 'who are you?' }, {}, 400);
        const page = Number(url.searchParams.get('page') ?? 1);
        const next = page < 4 ? `/items?page=${page + 1}&key=${encoded}` : null;
        const link: Record<string, string> = next === null ? {} : { link: `<${next}>; rel="next"` };
        return json({ data: items(25, page * 25), next }, link);
      };
      const yaml = `name: api\nbase_url: \${URL}\nresources:\n  - { name: items, path: /items, items: data, id: id, query: { key: "\${KEY}" }, pagination: { ${pagination} } }`;
      const { run, folder, output } = await extractRest({ handler, yaml, env: { KEY: secret } });
      expect(await run()).toMatchObject({ state: 'completed', types: [{ held: 100 }] });
      await expectNone(folder, output);
    },
  );

  it('in the path of the address is in no name', async () => {
    const handler = ({ url }: InMemoryRequest) =>
      url.pathname === '/bothunter2-x/items' ? json(items(3)) : json({ message: url.pathname }, {}, 404);
    const yaml = `name: api\nbase_url: \${URL}/bot\${KEY}\nresources:\n  - { name: items, path: /items, id: id }\n  - { name: nothing, path: /nothing, id: id }`;
    const { run, folder, output } = await extractRest({ handler, yaml, env: { KEY: 'hunter2-x' } });
    expect(await run()).toMatchObject({ types: [{ held: 3 }, { state: 'incomplete' }] });
    await expectNone(folder, output);
  });
});

describe('a dry run', () => {
  it('retries as a run does, and reports what could not be estimated', async () => {
    const calls = new Map<string, number>();
    const handler = ({ url }: InMemoryRequest) => {
      const count = (calls.get(url.pathname) ?? 0) + 1;
      calls.set(url.pathname, count);
      if (url.pathname === '/bad') return json({ message: 'No rights' }, {}, 403);
      if (url.pathname === '/never') return json({ message: 'Broken' }, {}, 500);
      return count < 3 ? json({}, {}, count === 1 ? 500 : 429) : json([{ id: 1 }], { 'x-total': '250' });
    };
    const resource = (name: string) =>
      `  - { name: ${name}, path: /${name}, id: id, pagination: { type: offset }, total: { header: X-Total } }`;
    const { estimate } = await extractRest({
      handler,
      yaml: `name: api\nbase_url: \${URL}\nresources:\n${['good', 'bad', 'never'].map(resource).join('\n')}`,
      flags: { retries: '2' },
    });
    const { types, isAtLeast } = await estimate();
    expect(types).toMatchObject([
      { type: 'good', items: 250, calls: 3, isAtLeast: false },
      { type: 'bad', items: null, isAtLeast: true, error: expect.stringContaining('No rights') },
      { type: 'never', items: null, isAtLeast: true, error: expect.stringContaining('Broken') },
    ]);
    expect(isAtLeast).toBe(true);
    expect(calls.get('/never')).toBe(3);
  });

  it('makes no vault, and counts only what is not there', async () => {
    const handler = ({ url }: InMemoryRequest) => {
      const [at, limit] = [Number(url.searchParams.get('offset')), Number(url.searchParams.get('limit'))];
      return json(items(1_000).slice(at, at + limit), { 'x-total-count': '1000' });
    };
    const yaml = yamlFor('type: offset').replace(' }', ' }, total: { header: X-Total-Count }');
    const { run, estimate, folder } = await extractRest({
      handler,
      yaml,
      flags: { vault: 'x.vault', 'max-calls': '4' },
    });
    expect(await estimate()).toMatchObject({ calls: 10, callsThisRun: 4 });
    expect(await readdir(folder)).not.toContain('x.vault');
    await run();
    expect(await estimate()).toMatchObject({ calls: 6, probes: 0 });
  });
});

describe('a vault', () => {
  it.each([
    [
      'in /proc',
      '/proc/none/x.vault',
      /^The folder of the vault \/proc\/none cannot be created there\. Choose another path/,
    ],
    [
      'below a file',
      '/etc/hostname/x.vault',
      /^The folder of the vault \/etc\/hostname .*Choose another path \(--vault\)/,
    ],
  ])('that is %s is rejected in one line', async (_, vault, message) => {
    const { run } = await extractRest({
      handler: () => json([]),
      yaml: yamlFor('type: offset'),
      flags: { vault },
    });
    await expect(run()).rejects.toThrow(message);
  });

  it('that another program writes to is waited for, and a stop takes effect meanwhile', async () => {
    const looker = await simulatedLooker({ items: { users: 40 }, latencyMs: 10 });
    const folder = await temporaryFolder();
    await extractLooker(looker, folder, { types: 'users', 'max-calls': '1' });
    const holder = new DatabaseSync(join(folder, 'test.vault'));
    onTestFinished(() => holder.close());
    holder.exec('BEGIN IMMEDIATE');
    const stop = new AbortController();
    const stopped = extractLooker(looker, folder, { types: 'users' }, { signal: stop.signal });
    stopped.catch(() => undefined);
    await sleep(700);
    stop.abort(new Error('stopped by us'));
    const before = performance.now();
    await expect(stopped).rejects.toThrow('stopped by us');
    expect(performance.now() - before).toBeLessThan(8_000);
    const waiting = extractLooker(looker, folder, { types: 'users' });
    await sleep(700);
    holder.exec('ROLLBACK');
    expect((await waiting).result.state).toBe('completed');
    expect(vaultRows(folder)).toHaveLength(40);
  });

  it('that is locked during the extraction does not delay a stop', async () => {
    const looker = await simulatedLooker({ items: { users: 400 }, latencyMs: 20 });
    const folder = await temporaryFolder();
    await extractLooker(looker, folder, { types: 'users', 'max-calls': '1' });
    const holder = new DatabaseSync(join(folder, 'test.vault'), { timeout: 5_000 });
    onTestFinished(() => holder.close());
    const stop = new AbortController();
    let pages = 0;
    const onEvent = ({ name }: { name: string }) => {
      if (name === 'extraction:page-committed' && ++pages === 3) holder.exec('BEGIN IMMEDIATE');
    };
    const running = extractLooker(looker, folder, { types: 'users' }, { signal: stop.signal, onEvent });
    running.catch(() => undefined);
    while (pages < 3) await sleep(20);
    await sleep(500);
    stop.abort(new Error('stopped by us'));
    const before = performance.now();
    expect((await running).result).toMatchObject({ endedBy: 'interrupted' });
    expect(performance.now() - before).toBeLessThan(8_000);
    holder.exec('ROLLBACK');
    expect((await extractLooker(looker, folder, { types: 'users' })).result.state).toBe('completed');
    expect(vaultRows(folder)).toHaveLength(400);
  });
});
