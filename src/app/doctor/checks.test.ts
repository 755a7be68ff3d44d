import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { makeAll } from './checks.ts';
import { ok } from './findings.ts';

const failing = (error: Error) => () => {
  throw error;
};

describe('makeAll', () => {
  it('makes every check in its order, and sends who cannot be asked to the store that is away', async () => {
    const found = await makeAll([
      ['fine', () => ok('Fine.')],
      ['clock', failing(new CoreError('REDIS_UNAVAILABLE', 'Redis is away.'))],
      ['size', failing(new CoreError('STATE_UNAVAILABLE', 'Postgres is away.'))],
      ['other', failing(new Error('EACCES: /d'))],
    ]);
    expect(found).toMatchObject([
      { name: 'fine', state: 'ok' },
      { name: 'clock', state: 'problem', remedy: 'See the check of redis.' },
      { name: 'size', state: 'problem', remedy: 'See the check of the state store.' },
      { name: 'other', state: 'problem', detail: expect.stringContaining('EACCES: /d') as string },
    ]);
    expect(found[3]?.remedy).not.toContain('store');
  });

  it('waits for a check that hangs no longer than five seconds', async () => {
    const clock = new VirtualClock();
    const hanging = makeAll(
      [
        ['hung', () => new Promise(() => undefined)],
        ['fine', () => ok('Fine.')],
      ],
      clock,
    );
    const found = await clock.run(hanging);
    expect(clock.monotonic()).toBe(5_000);
    expect(found).toMatchObject([
      { state: 'problem', detail: 'The check itself failed: no answer within 5 s' },
      { state: 'ok' },
    ]);
  });
});
