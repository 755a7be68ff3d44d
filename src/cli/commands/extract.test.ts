import { describe, expect, it } from 'vitest';
import type { Extracted } from '../../app/extract.ts';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { event } from '../../core/index.ts';
import { CliSession } from '../session.ts';
import { showEstimate, showResult } from './extract-result.ts';
import { startScreen } from './extract-screen.ts';

const limiter = {
  backoff_multiplier: 1.5,
  last_429_timestamp: null,
  consecutive_successes: 0,
  total_429_count: 3,
  paused_until: null,
  waiting: 0,
  permitted_per_second: 10,
  permitted_per_minute: 100,
};
const result: Extracted = {
  session: 's',
  status: 'completed',
  isResumed: false,
  wasComplete: false,
  endedBy: 'done',
  types: [{ type: 'users', items: 31, total: 31, status: 'completed' }],
  calls: 4,
  metrics: { total: 31, by_type: { users: 31 }, errors: 0, worker_errors: {}, start_time: '', duration: 2 },
  rateLimiter: limiter,
  itemsPerSecond: 15.5,
  vault: '/data/x.vault',
};
const progress = {
  types: [
    { type: 'users', items: 20, total: 31, status: 'running' },
    { type: 'looks', items: 0, total: null, status: 'pending' },
  ],
  calls: 2,
  itemsPerSecond: 10,
  rateLimiter: limiter,
  workersAlive: 1,
  workers: 2,
  queuedPages: 3,
  queuedBytes: 0,
};

function sessionIn(world: CliWorld, json = false): CliSession {
  return new CliSession(world.io, 'extract looker', { json, color: true, file: undefined, flags: {} });
}
const told = (name: string, payload: Record<string, unknown>) => ({
  name,
  at: Date.UTC(2026, 0, 1),
  spec: event<Record<string, unknown>>({ level: 'info', message: '' }),
  payload,
});

describe('the end of an extraction', () => {
  it('is a table and a sentence that says what came of it', () => {
    const world = new CliWorld();
    showResult(sessionIn(world), result);
    expect(world.out).toContain('users  31     31  completed');
    expect(world.out).toContain('Complete: 31 items, 4 calls, 2 s, 15.5 items/s, 3 × 429. /data/x.vault');
  });

  it.each<[Partial<Extracted>, string]>([
    [{ wasComplete: true }, 'Everything is there already: nothing was asked for.'],
    [{ status: 'interrupted', endedBy: 'interrupted' }, 'The same command goes on from here.'],
    [{ status: 'interrupted', endedBy: 'max-calls' }, 'Stopped after 4 calls, as told'],
    [{ status: 'incomplete' }, '--retry-failed'],
  ])('says so: %j', (more, text) => {
    const world = new CliWorld();
    showResult(sessionIn(world), { ...result, ...more });
    expect(world.out).toContain(text);
  });

  it('is one object for programs, under the names of the document', () => {
    const world = new CliWorld();
    showResult(sessionIn(world, true), result);
    expect(JSON.parse(world.out)).toMatchObject({
      event: 'extraction:result',
      throughput_items_per_second: 15.5,
      metrics: { by_type: { users: 31 } },
      rate_limiter: { backoff_multiplier: 1.5 },
    });
  });

  it('of a dry run tells calls and time, and what is not known', () => {
    const world = new CliWorld();
    showEstimate(sessionIn(world), {
      types: [
        { type: 'users', items: 31, calls: 4, isAtLeast: false },
        { type: 'explores', items: null, calls: 0, isAtLeast: true },
      ],
      calls: 4,
      isAtLeast: true,
      minutes: 1.5,
      probes: 1,
    });
    expect(world.out).toContain('explores  not known before  at least 0');
    expect(world.out).toContain('It would take at least 4 calls, about 1 min 30 s at this rate limit.');
    expect(world.err).toContain('1 call was made to find out; nothing was written.');
  });
});

describe('an extraction while it runs', () => {
  it('has a bar per type on a terminal, and a line with what concerns all', () => {
    const world = new CliWorld({ isTty: true, columns: 120 });
    const screen = startScreen(sessionIn(world));
    screen.show(told('extraction:progress', progress));
    screen.end();
    screen.end();
    expect(world.err.match(/users/g)).toHaveLength(1);
    expect(world.err).toMatch(/users.*20\/31.*running/);
    expect(world.err).toMatch(/looks.*pending/);
    expect(world.err).toContain('2 calls · 10.0 items/s · 3 × 429 · multiplier 1.50 · workers 1/2 · queue 3');
    expect(world.out).toBe('');
  });

  it('is a line per thing worth knowing elsewhere', () => {
    const world = new CliWorld();
    const screen = startScreen(sessionIn(world));
    screen.show(told('extraction:call', { type: 'users' }));
    screen.show(
      told('extraction:page-failed', { type: 'users', page: 'p', cause: 'timeout', error: 'late\u001b[2J' }),
    );
    screen.show(told('extraction:type-finished', { type: 'users', items: 31, status: 'incomplete' }));
    screen.end();
    expect(world.err).toBe('users p was given up (timeout): late [2J\nusers: 31 items, incomplete\n');
  });

  it('is an object per event with --json', () => {
    const world = new CliWorld();
    startScreen(sessionIn(world, true)).show(
      told('extraction:worker-died', { workersAlive: 1, worker: 'w' }),
    );
    expect(JSON.parse(world.out)).toEqual({
      event: 'extraction:worker-died',
      at: '2026-01-01T00:00:00.000Z',
      workers_alive: 1,
      worker: 'w',
    });
  });
});
