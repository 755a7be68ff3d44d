// Worker threads that die in the middle of a page, in the real process: nothing is lost, and the process continues (N3, T1).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  contentIn,
  contentOf,
  environmentFor,
  simulatedLooker,
  smallWorld,
  vaultRows,
} from '../support/extraction-runs.ts';
import { runHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

const preload = fileURLToPath(new URL('./extraction-thread-death-preload.ts', import.meta.url));
const command = 'extract looker --vault test.vault --types users --batch-size 10 --json'.split(' ');
const quick = '--rate-limit-per-minute 1000000 --rate-limit-per-second 100000'.split(' ');

/** Extracts users, whose item 55 ends the thread that writes it this many times. */
async function extractUsers(workers: number, deaths: number) {
  const looker = await simulatedLooker({ items: { ...smallWorld, users: 200 } });
  const folder = await temporaryFolder();
  const file = join(folder, 'deaths');
  writeFileSync(file, '.'.repeat(deaths));
  const lethal = { NODE_OPTIONS: `--import=${preload}`, DIES_AT_ITEM: '55', DEATHS: file };
  const env = { ...environmentFor(looker), ...lethal };
  const run = (...flags: string[]) =>
    runHeadworks([...command, ...quick, '--workers', String(workers), ...flags], folder, env);
  const first = await run();
  const events = first.stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const named = (name: string) => events.filter(({ event }) => event === name);
  const calls = () => looker.stats().calls['GET /users/search'];
  return { looker, folder, run, first, named, calls };
}

describe.each([1, 2])('a worker thread that dies in the middle of a page, of %i', (workers) => {
  it('is replaced, and its page is written once, without a second call', async () => {
    const { looker, folder, first, named, calls } = await extractUsers(workers, 1);
    expect({ code: first.code, err: first.stderr }).toEqual({ code: 0, err: '' });
    expect(named('extraction:worker-died')).toMatchObject([{ workers_alive: workers }]);
    expect(named('extraction:finished')).toMatchObject([{ state: 'completed', items: 200 }]);
    expect(calls()).toBe(20);
    const rows = vaultRows(folder);
    expect(rows).toHaveLength(200);
    const users = [...(await contentOf(looker))].filter(([key]) => key.startsWith('7 '));
    expect(contentIn(rows)).toEqual(new Map(users));
  });

  it('each time costs that page only: the run is incomplete, and --retry-failed completes it', async () => {
    const { folder, run, first, named } = await extractUsers(workers, 2);
    expect(named('extraction:worker-died')).toHaveLength(2);
    expect(named('extraction:page-failed')).toMatchObject([{ page: 'offset:50+10', cause: 'worker-died' }]);
    expect(named('extraction:finished')).toMatchObject([{ state: 'incomplete', items: 190 }]);
    expect(first.code).not.toBe(0);
    const ids = vaultRows(folder).map(({ id }) => Number(id));
    expect(ids.filter((id) => id > 50 && id <= 60)).toEqual([]);
    expect(ids).toHaveLength(190);
    expect(await run('--retry-failed')).toMatchObject({ code: 0 });
    expect(vaultRows(folder)).toHaveLength(200);
  });
});
