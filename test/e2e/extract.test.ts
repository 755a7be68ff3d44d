// The real command in processes that are killed, interrupted and misconfigured.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/core/index.ts';
import {
  contentIn,
  contentOf,
  environmentFor,
  simulatedLooker,
  vaultRows,
} from '../support/extraction-runs.ts';
import { runHeadworks, startHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

const quick = ['--rate-limit-per-minute', '1000000', '--rate-limit-per-second', '100000'];
const command = ['extract', 'looker', '--vault', 'test.vault', '--batch-size', '10', '--workers', '4'];
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Line {
  readonly event: string;
  readonly [field: string]: unknown;
}
const linesOf = (text: string): readonly Line[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

describe('headworks extract, killed', () => {
  it('at any moment, loses and duplicates nothing and fetches only pages again that were in flight', async () => {
    const looker = await simulatedLooker({ latencyMs: 8 });
    const folder = await temporaryFolder();
    const env = environmentFor(looker);
    const random = seededRandom(11);
    let kills = 0;
    for (let code: number | string = 'none'; code !== 0;) {
      const run = startHeadworks([...command, ...quick, '--json'], folder, env);
      if (kills < 5) {
        await run.printed(/extraction:started/);
        await sleep(random.next() * 250);
        run.child.kill('SIGKILL');
      }
      code = await run.ended;
      if (code === 'SIGKILL') kills++;
      else expect({ code, err: run.stderr() }).toEqual({ code: 0, err: '' });
    }
    const rows = vaultRows(folder);
    expect(contentIn(rows)).toEqual(await contentOf(looker));
    expect(new Set(rows.map((row) => `${row.content_type} ${row.id}`)).size).toBe(rows.length);
    const { calls } = looker.stats();
    // Includes the calls of `contentOf`, which requests each member once, as an undisturbed run does.
    const members = calls['GET /looks/{look_id}'] ?? 0;
    expect(members).toBeGreaterThanOrEqual(23 * 2);
    // A fetcher and a thread each hold a page when a process dies; four fetchers, at most four threads, five deaths.
    expect(members).toBeLessThanOrEqual(23 * 2 + kills * 8);
  });
});

describe('headworks extract, interrupted', () => {
  it('stops cleanly, exits with 130, and the same command finishes it', async () => {
    const looker = await simulatedLooker({ items: { users: 500 }, latencyMs: 40 });
    const folder = await temporaryFolder();
    const env = environmentFor(looker);
    const users = [...command, ...quick, '--types', 'users', '--json'];
    const run = startHeadworks(users, folder, env);
    await run.printed(/page-committed/);
    run.child.kill('SIGINT');
    expect(await run.ended).toBe(130);
    const finished = linesOf(run.stdout()).find(({ event }) => event === 'extraction:finished');
    expect(finished).toMatchObject({ state: 'interrupted' });
    const before = vaultRows(folder).length;
    expect(before).toBe(finished?.['items']);
    const callsBefore = looker.stats().calls['GET /users/search'] ?? 0;
    const again = await runHeadworks(users, folder, env);
    expect(again.code).toBe(0);
    expect(vaultRows(folder)).toHaveLength(500);
    const pages = 50 - before / 10;
    expect((looker.stats().calls['GET /users/search'] ?? 0) - callsBefore).toBe(pages);
  });

  it('stops at once at the second Ctrl-C, even without a response', async () => {
    const looker = await simulatedLooker({ items: { users: 50 }, faults: { hang: { probability: 1 } } });
    const folder = await temporaryFolder();
    const run = startHeadworks([...command, ...quick, '--types', 'users'], folder, environmentFor(looker));
    await run.printed(/Starting/);
    run.child.kill('SIGINT');
    await sleep(400);
    run.child.kill('SIGINT');
    expect(await run.ended).toBe(130);
  });
});

describe('headworks extract with options', () => {
  it('never loads a state store', async () => {
    const looker = await simulatedLooker({ items: { users: 5 } });
    const folder = await temporaryFolder();
    // Node itself lists every module that is loaded.
    const env = { ...environmentFor(looker), NODE_DEBUG: 'esm' };
    const { code, stderr, stdout } = await runHeadworks(
      [...command, ...quick, '--types', 'users'],
      folder,
      env,
    );
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/undici/);
    expect(stderr).not.toMatch(/node_modules\/(@electric-sql|pg|pg-boss|ioredis|fastify)\//);
    expect(existsSync(join(folder, '.headworks', 'state'))).toBe(false);
  });

  it('lists all invalid values with their ranges together', async () => {
    const folder = await temporaryFolder();
    const { code, stderr } = await runHeadworks(
      [
        'extract',
        'looker',
        '--workers',
        '51',
        '--batch-size',
        '9',
        '--rate-limit-per-second',
        '200',
        '--max-calls',
        '0',
      ],
      folder,
      { HEADWORKS_EXTRACTION_RETRIES: 'many' },
    );
    expect(code).toBe(2);
    expect(stderr).toContain(
      'extraction.workers (--workers, HEADWORKS_EXTRACTION_WORKERS): "51" from flag --workers',
    );
    expect(stderr).toContain('must be a whole number from 1 to 50');
    expect(stderr).toContain('must be a whole number from 10 to 1000');
    expect(stderr).toContain('must not be above the 100 per minute');
    expect(stderr).toContain(
      '"many" from env HEADWORKS_EXTRACTION_RETRIES must be a whole number from 0 to 20',
    );
    expect(stderr).toContain('5 problems');
  });

  it('reports missing settings, rejected credentials and an unreachable host in one line', async () => {
    const folder = await temporaryFolder();
    const unset = await runHeadworks(['extract', 'looker'], folder);
    expect(unset).toMatchObject({ code: 2, stdout: '' });
    expect(unset.stderr).toMatch(
      /^headworks: .*LOOKER_BASE_URL.*LOOKER_CLIENT_ID.*LOOKER_CLIENT_SECRET.*\n$/,
    );
    const looker = await simulatedLooker();
    const wrong = { ...environmentFor(looker), LOOKER_CLIENT_SECRET: 'not-the-secret' };
    const refused = await runHeadworks(command, folder, wrong);
    expect(refused.code).toBe(3);
    expect(refused.stderr).not.toContain('not-the-secret');
    const away = await runHeadworks(command, folder, { ...wrong, LOOKER_BASE_URL: 'http://127.0.0.1:1' });
    expect(away.code).toBe(3);
    expect(away.stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(join(folder, 'test.vault'))).toBe(false);
  });

  it('estimates the cost and writes nothing', async () => {
    const looker = await simulatedLooker();
    const folder = await temporaryFolder();
    const { code, stdout } = await runHeadworks(
      [...command, '--dry-run', '--json'],
      folder,
      environmentFor(looker),
    );
    expect(code).toBe(0);
    const estimate = JSON.parse(stdout) as { types: { type: string; items: number; calls: number }[] };
    expect(estimate.types).toContainEqual({ type: 'users', items: 31, calls: 4, is_at_least: false });
    expect(estimate.types).toContainEqual({ type: 'looks', items: 23, calls: 3 + 23, is_at_least: false });
    expect(existsSync(join(folder, 'test.vault'))).toBe(false);
  });

  it('exits with 4 when items are missing, and with 0 after --retry-failed fetched them', async () => {
    const looker = await simulatedLooker({ failures: [{ type: 'users', offset: 15 }] });
    const folder = await temporaryFolder();
    const env = environmentFor(looker);
    const users = [...command, ...quick, '--types', 'users', '--retries', '1'];
    const first = await runHeadworks(users, folder, env);
    expect(first.code).toBe(4);
    expect(first.stdout).toMatch(/users\s+21\s+31\s+21\s+incomplete/);
    looker.configure({ failures: [] });
    const second = await runHeadworks([...users, '--retry-failed'], folder, env);
    expect(second.code).toBe(0);
    expect(second.stdout).toMatch(/users\s+31\s+31\s+10\s+completed/);
    expect(second.stdout).toMatch(/^Complete: 10 items, 1 call, /m);
    const third = await runHeadworks(users, folder, env);
    expect(third).toMatchObject({ code: 0 });
    expect(third.stdout).toContain('Already up to date');
  });
});
