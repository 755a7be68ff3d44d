// The limiter of a source: its key, its file, and a journal that another process has locked.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { maxIn } from '../../test/support/resilience/rate-limiter.contract.ts';
import { CoreError } from '../core/errors.ts';
import { systemClock } from '../core/system.ts';
import { VirtualClock } from '../../test/support/core/virtual-clock.ts';
import type { RateWindow } from '../resilience/index.ts';
import type { GrantJournal } from '../resilience/rate-limiter/policy.ts';
import { AdaptiveRateLimiter, FallbackRateWindow, MemoryRateWindow } from '../resilience/index.ts';
import { emptyRequest } from '../resilience/rate-limiter/policy.ts';
import { BusyRetryWindow, limiterKey, openSourceLimiter } from './rate-limiter.ts';

describe('limiterKey', () => {
  it('distinguishes hosts and credentials, ignoring the case of the host', () => {
    const key = limiterKey('api.example', 'key-1');
    expect(limiterKey('API.example', 'key-1')).toBe(key);
    const others = [
      limiterKey('api.example', 'key-2'),
      limiterKey('other.example', 'key-1'),
      limiterKey('api.example', null),
    ];
    expect(new Set([key, ...others]).size).toBe(4);
  });

  it('contains the credential only as a short hash', () => {
    expect(limiterKey('api.example', 'sk-very-secret')).toMatch(/^api\.example:[0-9a-f]{16}$/);
    expect(limiterKey('api.example', null)).toBe('api.example:anonymous');
  });
});

it('keeps grants in files that only their owner can read', async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'headworks-test-'));
  onTestFinished(() => rm(dataFolder, { recursive: true, force: true }));
  await using closing = new AsyncDisposableStack();
  await openSourceLimiter({
    key: 'k',
    limits: { perSecond: 10 },
    isAdaptive: true,
    isReset: false,
    dataFolder,
    redis: { url: null, keyPrefix: '', commandTimeoutMs: 100 },
    clock: systemClock,
    closing,
    signal: new AbortController().signal,
    onLocked: () => undefined,
    onSharingChange: () => undefined,
  });
  const files = await readdir(dataFolder);
  expect(files).toContain('limits.sqlite');
  for (const file of files) expect((await stat(join(dataFolder, file))).mode & 0o777, file).toBe(0o600);
});

const limits = { perSecond: 5, perMinute: 600 };

/** A window whose journal stores nothing and can be locked by the test. */
function lockableWindow(clock: VirtualClock) {
  const state = { isLocked: false };
  const journal: GrantJournal = {
    load: () => ({ grants: [], state: undefined }),
    transaction: (work) => {
      if (state.isLocked)
        throw new CoreError('SQLITE_BUSY', '/data/limits.sqlite: another process holds it.');
      return work();
    },
    readChanges: () => ({ grants: [], state: undefined }),
    append: () => undefined,
    move: () => undefined,
    save: () => undefined,
    shift: () => undefined,
  };
  const memory = new MemoryRateWindow({ limits, clock, journal });
  return { state, window: new BusyRetryWindow(memory, { clock, timeoutMs: 10_000 }) };
}

/** Acquires permits in a loop until stopped or rejected. */
function startCallers(limiter: AdaptiveRateLimiter, clock: VirtualClock, callers = 8) {
  const grants: number[] = [];
  const stop = new AbortController();
  const call = async (): Promise<void> => {
    for (;;) {
      const permit = await limiter.acquire(stop.signal);
      grants.push(clock.monotonic());
      permit.succeeded();
    }
  };
  const ended = Promise.allSettled(Array.from({ length: callers }, call));
  return { grants, ended, stop: () => stop.abort(new Error('stopped by us')) };
}

describe('BusyRetryWindow', () => {
  it('replies without a promise while the journal is not locked', () => {
    const { window } = lockableWindow(new VirtualClock());
    expect(window.exchange({ ...emptyRequest, wanted: 8 })).toMatchObject({ granted: 5 });
  });

  it('grants nothing while the journal is locked and continues afterwards, never over the limit', async () => {
    const clock = new VirtualClock();
    const { window, state } = lockableWindow(clock);
    const { grants, stop } = startCallers(new AdaptiveRateLimiter(window, clock), clock);
    for (let phase = 0; phase < 6; phase++) {
      state.isLocked = phase % 2 === 1;
      await clock.advance(2_000);
    }
    stop();
    expect(maxIn(grants, 1_000)).toBe(5);
    for (const lockedFrom of [2_000, 6_000, 10_000]) {
      expect(grants.filter((at) => at > lockedFrom && at < lockedFrom + 2_000)).toEqual([]);
      expect(
        grants.filter((at) => at >= lockedFrom - 2_000 && at <= lockedFrom).length,
      ).toBeGreaterThanOrEqual(10);
    }
  });

  it('lets callers abort while the journal is locked', async () => {
    const clock = new VirtualClock();
    const { window, state } = lockableWindow(clock);
    state.isLocked = true;
    const { grants, ended, stop } = startCallers(new AdaptiveRateLimiter(window, clock), clock);
    await clock.advance(1_000);
    stop();
    const [first] = await ended;
    expect(first).toMatchObject({ status: 'rejected', reason: new Error('stopped by us') });
    expect(grants).toEqual([]);
  });

  it('rejects every caller with the name of the file after the timeout', async () => {
    const clock = new VirtualClock();
    const { window, state } = lockableWindow(clock);
    state.isLocked = true;
    const { ended } = startCallers(new AdaptiveRateLimiter(window, clock), clock, 3);
    const settled = await clock.run(ended);
    expect(clock.monotonic()).toBe(10_000);
    expect(settled).toHaveLength(3);
    for (const one of settled)
      expect(one).toMatchObject({
        status: 'rejected',
        reason: { code: 'SQLITE_BUSY', message: expect.stringContaining('/data/limits.sqlite') },
      });
  });

  it('does not use shared grants that are old by the time the journal is free', async () => {
    const clock = new VirtualClock();
    const shared: RateWindow = Object.assign(new MemoryRateWindow({ limits, clock }), { isLocal: false });
    const machine = () => {
      const { window: local, state } = lockableWindow(clock);
      const window = new FallbackRateWindow({ shared, local, clock, onChange: () => undefined });
      return { state, ...startCallers(new AdaptiveRateLimiter(window, clock), clock) };
    };
    const machines = [machine(), machine()];
    for (let step = 0; step < 40; step++) {
      for (const [index, { state }] of machines.entries()) state.isLocked = (step + index * 3) % 9 > 5;
      await clock.advance(330);
    }
    for (const { stop } of machines) stop();
    const all = machines.flatMap(({ grants }) => grants).sort((one, other) => one - other);
    expect(maxIn(all, 1_000)).toBeLessThanOrEqual(5);
    // The memory window does not revoke grants.
    expect(all.length).toBeGreaterThan(20);
  });
});
