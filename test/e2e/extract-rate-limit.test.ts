// The real command, killed and restarted within a minute. A separate file, because it waits until that minute has ended.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { environmentFor, simulatedLooker } from '../support/extraction-runs.ts';
import { startHeadworks } from '../support/headworks-process.ts';
import { temporaryFolder } from '../support/services.ts';

const command = ['extract', 'looker', '--vault', 'test.vault', '--batch-size', '10', '--workers', '4'];

describe('headworks extract, killed', () => {
  it('keeps the rate limit across the restart', async () => {
    const looker = await simulatedLooker({ items: { users: 2_000 } });
    const folder = await temporaryFolder();
    const env = environmentFor(looker);
    const limited = [
      '--rate-limit-per-minute',
      '30',
      '--rate-limit-per-second',
      '30',
      '--types',
      'users',
      '--json',
    ];
    const first = startHeadworks([...command, ...limited], folder, env);
    while (looker.stats().total < 15) await sleep(10);
    first.child.kill('SIGKILL');
    await first.ended;
    const second = startHeadworks([...command, ...limited], folder, env);
    await second.printed(/extraction:started/);
    // Until the minute of the first calls has ended and others have followed.
    while (looker.stats().total < 45) await sleep(100);
    second.child.kill('SIGKILL');
    await second.ended;
    const { maxPerMinute } = looker.stats();
    expect(maxPerMinute).toBeLessThanOrEqual(30);
    // Includes two logins; permits that the first process could not use, at most one per fetcher, are lost.
    expect(maxPerMinute).toBeGreaterThanOrEqual(24);
  });
});
