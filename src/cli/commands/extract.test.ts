import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import type { ExtractionSummary } from '../../app/extract.ts';
import { event } from '../../core/index.ts';
import { CliSession } from '../session.ts';
import { printEstimate, printResult, showProgress } from './extract-progress.ts';

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
const result: ExtractionSummary = {
  session: 's',
  state: 'completed',
  isResumed: false,
  wasComplete: false,
  endedBy: 'finished',
  canRetry: false,
  hasBrokenLists: false,
  types: [{ type: 'users', items: 31, itemsThisRun: 11, held: 33, total: 31, state: 'completed' }],
  calls: 4,
  rateLimitedCalls: 2,
  metrics: {
    total: 11,
    by_type: { camelCase: 11 },
    errors: 0,
    worker_errors: {},
    start_time: '',
    duration: 2,
  },
  rateLimiter: limiter,
  itemsPerSecond: 5.5,
  totals: { items: 31, calls: 9, errors: 1, activeMs: 62_000, throughputItemsPerSecond: 0.5 },
  vault: '/data/x.vault',
};
const running = {
  type: 'users',
  items: 31,
  itemsThisRun: 11,
  held: 33,
  total: 40,
  state: 'running',
} as const;
const progress = {
  types: [
    { type: 'users', items: 20, itemsThisRun: 12, total: 31, state: 'running' },
    { type: 'looks', items: 0, itemsThisRun: 0, total: null, state: 'queued' },
  ],
  calls: 2,
  rateLimitedCalls: 1,
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
const emitted = (name: string, payload: Record<string, unknown>) => ({
  name,
  spec: event<Record<string, unknown>>({ level: 'info', message: '' }),
  payload,
});

/** The lines on the screen, without what moves the cursor. */
const drawn = ({ err }: CliWorld): readonly string[] =>
  err
    // oxlint-disable-next-line no-control-regex -- control sequences of terminals
    .replaceAll(/\u001B\[[\d;?]*[A-Za-z]/g, '')
    .split(/[\r\n]+/)
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');

describe('the end of an extraction', () => {
  it('is a table and a summary', () => {
    const world = new CliWorld();
    printResult(sessionIn(world), result);
    expect(world.out).toMatch(/TYPE +IN VAULT +OF +READ NOW +STATUS/);
    expect(world.out).toMatch(/users +33 +31 +11 +completed/);
    expect(world.out).toContain('Complete: 11 items, 4 calls, 2 s, 5.5 items/s, 2 × 429. /data/x.vault\n');
    expect(world.out).not.toContain('All runs');
  });

  it('of a resumed session has the totals of all runs, and counts the 429s of this run only', () => {
    const world = new CliWorld();
    const metrics = { ...result.metrics, total: 1, duration: 0.5 };
    printResult(sessionIn(world), {
      ...result,
      metrics,
      calls: 1,
      rateLimitedCalls: 0,
      itemsPerSecond: 2,
      isResumed: true,
    });
    expect(world.out).toContain('Complete: 1 item, 1 call, 500 ms, 2.0 items/s. /data/x.vault\n');
    expect(world.out).toContain('All runs of this session: 31 items, 9 calls, 1 min 2 s, 0.5 items/s.\n');
  });

  it.each<[Partial<ExtractionSummary>, string]>([
    [{ wasComplete: true }, 'Already up to date; no API calls made.'],
    [{ state: 'interrupted', endedBy: 'interrupted' }, 'Run the same command to resume.'],
    [{ state: 'interrupted', endedBy: 'max-calls' }, 'Stopped after 4 calls, the maximum'],
    [{ state: 'interrupted', endedBy: 'max-calls', calls: 1 }, 'Stopped after 1 call, the maximum'],
    [{ state: 'incomplete', canRetry: true }, 'Request it again with --retry-failed'],
    [{ state: 'incomplete' }, 'the source reports a larger total: extract it again with --fresh'],
    [{ state: 'incomplete', hasBrokenLists: true }, 'check its pagination, then extract it again'],
    [{ state: 'interrupted', endedBy: 'max-calls', types: [running] }, '11        interrupted'],
  ])('shows the state: %j', (more, text) => {
    const world = new CliWorld();
    printResult(sessionIn(world), { ...result, ...more });
    expect(world.out).toContain(text);
  });

  it('is one JSON object with the names of the founding document', () => {
    const world = new CliWorld();
    printResult(sessionIn(world, true), result);
    expect(JSON.parse(world.out)).toMatchObject({
      event: 'extraction:result',
      calls: 4,
      rate_limited_calls: 2,
      items_per_second: 5.5,
      throughput_items_per_second: 0.5,
      session_totals: { items: 31, calls: 9, errors: 1, active_seconds: 62 },
      types: [{ type: 'users', items: 31, items_this_run: 11, held: 33, total: 31, state: 'completed' }],
      // Names of types are the user's, and stay as they are.
      metrics: { by_type: { camelCase: 11 } },
      rate_limiter: { backoff_multiplier: 1.5, total_429_count: 3 },
    });
  });

  it('contains no secret of a failure', () => {
    const world = new CliWorld();
    const session = sessionIn(world, true);
    session.redactor.add('hunter2hunter2');
    const metrics = { ...result.metrics, errors: 1, worker_errors: { fetch: ['boom hunter2hunter2'] } };
    printResult(session, { ...result, metrics });
    expect(world.out).toContain('boom [redacted]');
    expect(world.out).not.toContain('hunter2');
  });

  it('of a dry run has calls and time, and what is unknown', () => {
    const world = new CliWorld();
    printEstimate(sessionIn(world), {
      types: [
        { type: 'users', items: 31, calls: 4, isAtLeast: false },
        { type: 'explores', items: null, calls: 0, isAtLeast: true },
      ],
      calls: 4,
      isAtLeast: true,
      callsThisRun: 4,
      minutes: 1.5,
      probes: 1,
    });
    expect(world.out).toContain('explores  unknown  at least 0');
    expect(world.out).toContain('It would take at least 4 calls, about 1 min 30 s at this rate limit.');
    expect(world.err).toContain('1 call was made for the estimate; nothing was written.');
  });
});

describe('a dry run', () => {
  it('reports after how many calls --max-calls ends it', () => {
    const world = new CliWorld();
    const facts = { types: [], isAtLeast: false, minutes: 0.5, probes: 0 };
    printEstimate(sessionIn(world), { ...facts, calls: 90, callsThisRun: 50 });
    expect(world.out).toContain('90 calls; --max-calls ends the first run after 50, about 30 s at this');
  });

  it('prints one JSON document on stdout, and what it waits for on stderr', () => {
    const world = new CliWorld();
    const session = sessionIn(world, true);
    const waiting = { reason: 'source-busy', why: 'it is busy', waitMs: 8_000 };
    showProgress(session, false).show(emitted('extraction:waiting', waiting));
    const facts = { types: [], isAtLeast: false, minutes: 0.5, probes: 0 };
    printEstimate(session, { ...facts, calls: 90, callsThisRun: 50 });
    expect(JSON.parse(world.out)).toMatchObject({ dry_run: true, calls: 90 });
    expect(JSON.parse(world.err)).toMatchObject({ event: 'extraction:waiting', wait_ms: 8_000 });
  });
});

describe('an extraction while it runs', () => {
  it('has a bar per type on a terminal, and a line with totals', () => {
    const world = new CliWorld({ isTty: true, columns: 120 });
    const screen = showProgress(sessionIn(world));
    screen.show(emitted('extraction:progress', progress));
    screen.end();
    screen.end();
    expect(world.err.match(/users/g)).toHaveLength(1);
    expect(world.err).toMatch(/users.*20\/31.*running/);
    expect(world.err).toMatch(/looks.*queued/);
    expect(world.err).toContain('2 calls · 10.0 items/s · 1 × 429 · multiplier 1.50 · workers 1/2 · queue 3');
    expect(world.out).toBe('');
  });

  it('fits a narrow terminal without truncating rate, time left and status', async () => {
    const world = new CliWorld({ isTty: true, columns: 50 });
    const screen = showProgress(sessionIn(world));
    await world.clock.advance(2_000);
    const types = [
      { type: 'scheduled_plans', items: 10, itemsThisRun: 10, total: 20, state: 'running' },
      { type: 'permission_sets', items: 5, itemsThisRun: 5, total: 5, state: 'completed' },
    ];
    screen.show(emitted('extraction:progress', { ...progress, types }));
    screen.end();
    const lines = drawn(world);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(50);
    expect(lines[0]).toMatch(/^scheduled_plans +10\/20 +5\.0\/s ~2 s$/);
    expect(lines[1]).toMatch(/^permission_sets +5\/5 +2\.5\/s completed$/);
    expect(lines.slice(2).join(' ')).toContain('workers 1/2');
  });

  it('draws an empty bar while the total is unknown, until the type is complete', () => {
    const world = new CliWorld({ isTty: true, columns: 120 });
    const screen = showProgress(sessionIn(world));
    const looks = { type: 'looks', items: 7, itemsThisRun: 7, total: null };
    screen.show(emitted('extraction:progress', { ...progress, types: [{ ...looks, state: 'running' }] }));
    screen.end();
    expect(drawn(world)[0]).toMatch(/^looks ░{24} +7 /);
    const after = new CliWorld({ isTty: true, columns: 120 });
    const end = showProgress(sessionIn(after));
    end.show(emitted('extraction:progress', { ...progress, types: [{ ...looks, state: 'completed' }] }));
    end.end();
    expect(drawn(after)[0]).toMatch(/^looks █{24} +7 /);
  });

  it('is a line per important event without a terminal', () => {
    const world = new CliWorld();
    const screen = showProgress(sessionIn(world));
    screen.show(emitted('extraction:call', { type: 'users' }));
    screen.show(
      emitted('extraction:page-failed', {
        type: 'users',
        page: 'p',
        cause: 'timeout',
        error: 'late\u001b[2J',
      }),
    );
    screen.show(
      emitted('extraction:type-finished', {
        type: 'users',
        items: 31,
        itemsThisRun: 0,
        state: 'incomplete',
      }),
    );
    screen.end();
    expect(world.err).toBe(
      'users p failed (timeout): late [2J\nusers: 31 in the vault, 0 read in this run, incomplete\n',
    );
  });

  it('shows why it starts over, and the result of a dry run on a terminal', () => {
    const world = new CliWorld({ isTty: true });
    const screen = showProgress(sessionIn(world), false);
    screen.show(emitted('extraction:vault-migrated', { vault: 'x.vault' }));
    screen.show(emitted('extraction:types-changed', { types: ['looks', 'explores'] }));
    screen.end();
    expect(world.err).toBe(
      'x.vault was migrated from an older version. Older versions of Headworks can no longer read it.\n' +
        'The definition of looks, explores has changed since the last extraction: extracting everything again\n',
    );
  });

  it.each([true, false])('prints what it waits for before the first bar (terminal: %s)', (isTty) => {
    const world = new CliWorld({ isTty });
    const screen = showProgress(sessionIn(world));
    screen.show(emitted('extraction:waiting', { reason: 'source-busy', why: 'it is busy', waitMs: 8_000 }));
    screen.show(emitted('extraction:waiting', { reason: 'rate-limit', why: 'it is used up', waitMs: null }));
    screen.show(emitted('extraction:vault-migrated', { vault: 'x.vault' }));
    expect(world.err.split('\n')).toEqual([
      'Waiting 8 s: it is busy',
      'Waiting: it is used up',
      expect.stringMatching(/^x\.vault was migrated from an older version/),
      '',
    ]);
    screen.end();
  });

  it('prints nothing while nothing is running', async () => {
    const world = new CliWorld();
    const screen = showProgress(sessionIn(world));
    const types = progress.types.map((type) => ({ ...type, state: 'queued' }));
    await world.clock.advance(6_000);
    screen.show(emitted('extraction:progress', { ...progress, types }));
    expect(world.err).toBe('');
    await world.clock.advance(6_000);
    screen.show(emitted('extraction:progress', progress));
    expect(world.err).toBe('users 20 of 31\n');
  });

  it('is an object per event with --json', () => {
    const world = new CliWorld();
    showProgress(sessionIn(world, true)).show(
      emitted('extraction:worker-died', { workersAlive: 1, worker: 'w' }),
    );
    expect(JSON.parse(world.out)).toEqual({
      event: 'extraction:worker-died',
      at: '2026-03-01T12:00:00.000Z',
      workers_alive: 1,
      worker: 'w',
    });
    world.out = '';
    showProgress(sessionIn(world, true)).show(emitted('extraction:progress', progress));
    expect(JSON.parse(world.out)).toMatchObject({
      rate_limited_calls: 1,
      types: [{ type: 'users', items_this_run: 12 }, { type: 'looks' }],
      rate_limiter: { total_429_count: 3 },
    });
  });
});
