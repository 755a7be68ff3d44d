// headworks executions, against a server double.
import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { HeadworksError } from '../../core/index.ts';

const execution = (state: string, more: object = {}) => ({
  id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  organization_id: 'org_a',
  organization_name: 'acme-corp',
  deployment_id: 'd1',
  deployment_name: 'invoices',
  state,
  idempotency_key: null,
  job_id: 'j1',
  accepted_at: '2026-03-01T11:58:00Z',
  started_at: null,
  finished_at: null,
  result: null,
  error: null,
  warnings: [],
  ...more,
});

describe('headworks executions', () => {
  it('lists executions, and those that hold slots', async () => {
    const failed = execution('error', {
      finished_at: '2026-03-01T11:58:05Z',
      error: { code: 'INTERNAL', message: 'it broke' },
    });
    const world = new CliWorld({
      answer: () => ({
        executions: [execution('running'), failed],
        next: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      }),
    });
    expect(await world.run('executions', 'list', '--unfinished', '--organization', 'acme')).toBe(0);
    expect(world.calls[0]).toMatchObject({
      path: '/api/v1/executions',
      query: { organization: 'acme', state: 'queued,running', limit: 50 },
    });
    expect(world.out).toMatch(
      /0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b +acme-corp\/invoices +running +2 min ago +2 min/,
    );
    expect(world.out).toMatch(
      /0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b +acme-corp\/invoices +error +2 min ago +5 s +it broke\n/,
    );
    expect(world.err).toContain('There are more');
    const empty = new CliWorld({ answer: () => ({ executions: [], next: null }) });
    await empty.run('executions');
    expect(empty.out).toBe('There are no such executions.\n');
  });

  it.each(['acme-corp/invoices', 'Invoices', 'd1'])('lists those of the deployment %s', async (wanted) => {
    const deployment = { id: 'd1', organization: 'acme-corp', name: 'invoices' };
    const world = new CliWorld({
      answer: ({ path }) =>
        path === '/api/v1/deployments' ? { deployments: [deployment] } : { executions: [], next: null },
    });
    expect(await world.run('executions', 'list', '--deployment', wanted)).toBe(0);
    expect(world.calls[1]).toMatchObject({ path: '/api/v1/executions', query: { deployment: 'd1' } });
  });

  it('names an unknown deployment', async () => {
    const world = new CliWorld({ answer: () => ({ deployments: [] }) });
    expect(await world.run('executions', 'list', '--deployment', 'acme-corp/nothing')).toBe(1);
    expect(world.err).toContain('There is no deployment acme-corp/nothing.');
    expect(world.calls).toHaveLength(1);
  });

  it('shows one, and prints the response of the server with --json', async () => {
    const done = execution('completed', { result: { sum: 3 }, warnings: ['cut'] });
    const world = new CliWorld({ answer: () => done });
    await world.run('executions', 'get', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b');
    expect(world.out).toMatch(/state +completed/);
    expect(world.out).toMatch(
      /organization name +acme-corp\n +deployment id +d1\n +deployment name +invoices\n/,
    );
    expect(world.out).toContain('{"sum":3}');
    const json = new CliWorld({ answer: () => done });
    await json.run('executions', 'get', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', '--json');
    expect(JSON.parse(json.out)).toEqual(done);
  });

  it.each([
    ['cancel', execution('canceled'), 'Execution 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b is canceled.\n'],
    [
      'cancel',
      execution('completed'),
      'Execution 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b had ended: completed.\n',
    ],
    [
      'release',
      { id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', is_released: true },
      'The slot of 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b is free.\n',
    ],
    [
      'release',
      { id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b', is_released: false },
      '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b held no slot.\n',
    ],
  ])('%s prints the outcome', async (verb, answer, output) => {
    const world = new CliWorld({ answer: () => answer });
    expect(await world.run('executions', verb, '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b')).toBe(0);
    expect(world.calls[0]).toMatchObject({
      method: 'POST',
      path: `/api/v1/executions/0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b/${verb}`,
    });
    expect(world.out).toBe(output);
  });

  it('prints why a slot cannot be freed', async () => {
    const world = new CliWorld({
      answer: () => {
        throw new HeadworksError(
          'CONFLICT',
          'The execution 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b is running: it needs its slot.',
        );
      },
    });
    expect(await world.run('executions', 'release', '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b')).toBe(1);
    expect(world.err).toContain('needs its slot');
  });
});
