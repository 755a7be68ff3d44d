import { describe, expect, it } from 'vitest';
import type { FakeCall } from '../../../test/support/cli-world.ts';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { CoreError } from '../../core/index.ts';

const job = (state: string, more: object = {}) => ({
  id: 'j1',
  name: 'ledger.repair',
  state,
  payload: {},
  attempts: 1,
  created_at: '2026-03-01T12:00:00Z',
  started_at: null,
  finished_at: null,
  start_after: null,
  progress: null,
  reason: null,
  result: null,
  ...more,
});
const entry = {
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  details: {},
  kind: 'k',
  subject: 's',
  message: 'm',
  last_repair_error: 'no model',
  resolved_at: null,
};

interface Script {
  readonly jobId?: string | null;
  readonly jobs?: readonly unknown[];
  readonly responses: readonly (object | Error)[];
  readonly open?: readonly object[];
  readonly one?: object;
}

/** A server that returns the next of `responses` for each read of the job. */
function serving({
  jobId = 'j1',
  jobs = [],
  responses,
  open = [],
  one,
}: Script): (call: FakeCall) => unknown {
  let calls = 0;
  return ({ path }) => {
    if (path === '/api/v1/ledger/repair') return { job_id: jobId };
    if (path === '/api/v1/jobs') return { jobs };
    if (path === '/api/v1/ledger') return { entries: open, next: null };
    if (path.startsWith('/api/v1/ledger/')) return one;
    const seen = responses[Math.min(calls++, responses.length - 1)];
    if (seen instanceof Error) throw seen;
    return seen;
  };
}

describe('headworks repair', () => {
  it('waits for the job with progress, and ends with 0 when nothing is open', async () => {
    const progress = { done: 1, total: 2, message: null };
    const responses = [
      job('queued'),
      job('running', { progress }),
      job('running', { progress }),
      job('completed'),
    ];
    const world = new CliWorld({ answer: serving({ responses }) });
    expect(await world.run('repair', '--kind', 'k')).toBe(0);
    expect(world.calls[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/ledger/repair',
      body: { kind: 'k' },
    });
    expect(world.err).toBe('Repairing: 1 of 2\n');
    expect(world.out).toBe('Everything is repaired.\n');
  });

  it('ends with 4 and lists open entries with their reasons', async () => {
    const world = new CliWorld({ answer: serving({ responses: [job('completed')], open: [entry] }) });
    expect(await world.run('repair')).toBe(4);
    expect(world.out).toMatch(/0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b +k +s +no model\n/);
    expect(world.err).toContain('1 still open.');
  });

  it('prints only one JSON document with --json', async () => {
    const running = job('running', { progress: { done: 0, total: 9, message: 'x' } });
    const world = new CliWorld({
      answer: serving({ responses: [running, job('completed')], open: [entry] }),
    });
    expect(await world.run('repair', '--json')).toBe(4);
    expect(JSON.parse(world.out)).toEqual({ job: job('completed'), still_open: [entry], more: false });
    expect(world.err).toBe('');
  });

  it('reads only the given entry', async () => {
    const broken = new CliWorld({
      answer: serving({ responses: [job('completed')], one: entry, open: [entry] }),
    });
    expect(await broken.run('repair', '--id', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b')).toBe(4);
    const repaired = { ...entry, resolved_at: '2026-03-01T12:00:00Z' };
    const done = new CliWorld({
      answer: serving({ responses: [job('completed')], one: repaired, open: [entry] }),
    });
    expect(await done.run('repair', '--id', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b')).toBe(0);
  });

  it('waits for the same repair when it is already running', async () => {
    const others = [
      job('running', { id: 'j7', payload: { due: true } }),
      job('running', { id: 'j8', payload: { kind: 'k' } }),
    ];
    const world = new CliWorld({
      answer: serving({ jobId: null, jobs: others, responses: [job('completed')] }),
    });
    expect(await world.run('repair', '--kind', 'k')).toBe(0);
    expect(world.calls.map(({ path }) => path)).toContain('/api/v1/jobs/j8');
  });

  it('fails when the job failed for good', async () => {
    const world = new CliWorld({
      answer: serving({ responses: [job('failed', { reason: 'store is full' })] }),
    });
    expect(await world.run('repair')).toBe(1);
    expect(world.err).toBe(
      'headworks: The repair could not run: store is full. See headworks jobs get j1.\n',
    );
  });

  it('retries a server that is unavailable for a moment, but not without a limit', async () => {
    const away = new CoreError('STATE_UNAVAILABLE', 'Away.', { isRetryable: true });
    const moment = new CliWorld({ answer: serving({ responses: [away, away, job('completed')] }) });
    expect(await moment.run('repair')).toBe(0);
    const unlimited = new CliWorld({ answer: serving({ responses: [away] }) });
    expect(await unlimited.run('repair')).toBe(3);
    expect(unlimited.clock.monotonic()).toBeGreaterThan(60_000);
  });

  it('stops waiting at Ctrl-C, reports that the repair continues, and exits with 130', async () => {
    const answer = serving({ responses: [job('running')] });
    let calls = 0;
    const world = new CliWorld({
      answer: (call) => {
        if (++calls === 3) world.interrupt();
        return answer(call);
      },
    });
    expect(await world.run('repair')).toBe(130);
    expect(world.err).toMatch(/^The repair continues in the server: .* jobs watch j1\n$/);
    expect(world.openClients).toBe(0);
  });

  it('draws a bar on a terminal', async () => {
    const running = job('running', { progress: { done: 1, total: 2, message: 'half' } });
    const world = new CliWorld({ isTty: true, answer: serving({ responses: [running, job('completed')] }) });
    expect(await world.run('repair')).toBe(0);
    expect(world.err).toContain('Repairing');
  });
});
