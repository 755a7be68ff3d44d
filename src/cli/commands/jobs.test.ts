import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';

const job = (state: string, more: object = {}) => ({
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  name: 'ledger.repair',
  state,
  payload: { kind: 'k' },
  attempts: 2,
  created_at: '2026-03-01T11:58:00Z',
  started_at: '2026-03-01T11:59:00Z',
  finished_at: null,
  start_after: null,
  progress: null,
  reason: null,
  result: null,
  ...more,
});

describe('headworks jobs list', () => {
  it('shows the progress of each job, the totals by state and the next page', async () => {
    const jobs = [
      job('running', { progress: { done: 3, total: 10, message: 'going' } }),
      job('failed', { finished_at: '2026-03-01T11:59:05Z', reason: 'it broke' }),
      job('queued', { start_after: '2026-03-01T12:10:00Z' }),
    ];
    const counts = [
      { name: 'a', state: 'failed', count: 2 },
      { name: 'b', state: 'failed', count: 1 },
      { name: 'b', state: 'completed', count: 9 },
    ];
    const world = new CliWorld({
      answer: ({ path }) => (path.endsWith('counts') ? { counts } : { jobs, next: 'x' }),
    });
    expect(await world.run('jobs', '--state', 'failed')).toBe(0);
    expect(world.calls[0]).toMatchObject({ path: '/api/v1/jobs', query: { state: 'failed', limit: 50 } });
    expect(world.out).toMatch(/running +2 +2 min ago +1 min +3 of 10 going\n/);
    expect(world.out).toMatch(/failed +2 +2 min ago +5 s +it broke\n/);
    expect(world.out).toMatch(/queued +2 +2 min ago +– +starts in 10 min\n/);
    expect(world.err).toBe('Total: 9 completed, 3 failed.\nThere are more: add --after x\n');
  });

  it('shows the progress of a retried job, and the reason of its last attempt before there is any', async () => {
    const reason = 'The process that ran it went away.';
    const jobs = [
      job('running', { reason, progress: { done: 3, total: 10, message: 'going' } }),
      job('running', { reason }),
    ];
    const world = new CliWorld({
      answer: ({ path }) => (path.endsWith('counts') ? { counts: [] } : { jobs, next: null }),
    });
    expect(await world.run('jobs')).toBe(0);
    const [, again, started] = world.out.split('\n');
    expect(again).toMatch(/3 of 10 going$/);
    expect(started).toMatch(/went away\.$/);
  });

  it('prints a message when there are none', async () => {
    const world = new CliWorld({
      answer: ({ path }) => (path.endsWith('counts') ? { counts: [] } : { jobs: [], next: null }),
    });
    await world.run('jobs');
    expect(world.out).toBe('There are no such jobs.\n');
  });

  it('makes one call and prints one document with --json', async () => {
    const world = new CliWorld({ answer: () => ({ jobs: [job('completed')] }) });
    await world.run('jobs', 'list', '--json');
    expect(world.calls).toHaveLength(1);
    expect(JSON.parse(world.out)).toEqual({ jobs: [job('completed')] });
  });
});

describe('headworks jobs get, retry, cancel', () => {
  it('shows everything about one job', async () => {
    const world = new CliWorld({ answer: () => job('failed', { reason: 'it broke' }) });
    await world.run('jobs', 'get', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b');
    expect(world.out).toMatch(/state +failed\n/);
    expect(world.out).toMatch(/reason +it broke\n/);
    expect(world.out).toMatch(/payload +\{"kind":"k"\}\n/);
  });

  it.each(['retry', 'cancel'])('%s calls the server and prints the new state', async (verb) => {
    const world = new CliWorld({ answer: () => job('queued') });
    expect(await world.run('jobs', verb, '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b')).toBe(0);
    expect(world.calls).toMatchObject([
      { method: 'POST', path: `/api/v1/jobs/0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b/${verb}` },
    ]);
    expect(world.out).toMatch(
      verb === 'retry'
        ? 'Job 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b is queued again.'
        : 'Job 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b is canceled.',
    );
    await world.run('jobs', verb, '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', '--json');
    expect(JSON.parse(world.out.split('\n')[1] ?? '')).toEqual(job('queued'));
  });
});

describe('headworks jobs watch', () => {
  const event = (name: string, payload: object) => ({
    name,
    data: { name, at: '2026-03-01T11:59:58.000Z', payload },
  });
  const events = [
    event('job:started', {
      name: 'ledger.repair',
      job_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      attempt: 1,
    }),
    event('ledger:recorded', { kind: 'k' }),
    event('job:progressed', {
      name: 'ledger.repair',
      job_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      done: 1,
      total: 4,
    }),
    event('job:failed', {
      name: 'ledger.repair',
      job_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      duration_ms: 1500,
      reason: 'bad\u001b[2J',
    }),
  ];

  it('prints a line per event of a job', async () => {
    const world = new CliWorld({ events });
    expect(await world.run('jobs', 'watch')).toBe(0);
    expect(world.out.split('\n')).toEqual([
      '11:59:58 job:started  ledger.repair 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      '11:59:58 job:progressed ledger.repair 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b 1 of 4',
      '11:59:58 job:failed   ledger.repair 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b 1.5 s bad [2J',
      '',
    ]);
  });

  it('reads the jobs after a reconnect and prints what was missed, once', async () => {
    const later = '2026-03-01T12:00:05Z';
    const jobs = [
      job('running', { id: 'j4', started_at: later }),
      job('completed', { id: 'j3', finished_at: '2026-03-01T12:00:03Z' }),
      job('completed', { id: 'j2', finished_at: '2026-03-01T11:00:00Z' }),
      job('failed', { finished_at: later, reason: 'it broke' }),
    ];
    const world = new CliWorld({
      events: [
        event('job:started', { name: 'ledger.repair', job_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b' }),
        'reconnect',
        event('job:failed', { name: 'ledger.repair', job_id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b' }),
      ],
      answer: () => ({ jobs }),
    });
    expect(await world.run('jobs', 'watch')).toBe(0);
    expect(world.calls).toMatchObject([{ path: '/api/v1/jobs' }]);
    expect(world.out.split('\n')).toEqual([
      '11:59:58 job:started  ledger.repair 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      '12:00:03 job:completed ledger.repair j3',
      '12:00:05 job:started  ledger.repair j4',
      '12:00:05 job:failed   ledger.repair 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b it broke',
      '',
    ]);
  });

  it('prints one JSON object per event with --json', async () => {
    const world = new CliWorld({ events });
    await world.run('jobs', 'watch', '--json');
    const lines = world.out.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual([
      'job:started',
      'job:progressed',
      'job:failed',
    ]);
  });

  it('ends quietly when the output is closed, and with 130 at Ctrl-C', async () => {
    const unread = new CliWorld({ events });
    unread.closeOutput();
    expect(await unread.run('jobs', 'watch')).toBe(0);
    const stopped = new CliWorld({ events });
    stopped.interrupt();
    expect(await stopped.run('jobs', 'watch')).toBe(130);
  });

  it.each([
    ['completed', 0],
    ['failed', 4],
    ['skipped', 4],
  ])('follows one job until it is %s: %d', async (state, code) => {
    const responses = [
      job('queued'),
      job('running', { progress: { done: 1, total: 2, message: 'on' } }),
      job(state),
    ];
    const world = new CliWorld({ answer: () => responses.shift() });
    expect(await world.run('jobs', 'watch', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b')).toBe(code);
    expect(world.out).toBe(`ledger.repair ${state}\n`);
    expect(world.err).toContain('Job: 1 of 2 ledger.repair running on\n');
  });

  it('stops following a job when the output is closed', async () => {
    const world = new CliWorld({
      answer: () => {
        world.closeOutput();
        return job('running');
      },
    });
    expect(await world.run('jobs', 'watch', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', '--json')).toBe(0);
  });
});
