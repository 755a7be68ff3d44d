import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import type { FakeCall } from '../../../test/support/cli-world.ts';

const job = {
  id: 'j1',
  name: 'knowledge.graph-rebuild',
  state: 'completed',
  progress: { done: 3, total: 3, message: null },
  reason: null,
};

describe('headworks graph', () => {
  it('shows the state of the graph, and ends with 4 when it is unavailable', async () => {
    const answer = { backend: 'age', state: 'unavailable', detail: 'It is not there. Install it.' };
    const world = new CliWorld({ answer: () => answer });
    expect(await world.run('graph')).toBe(4);
    expect(world.out).toContain('Install it.');
    const well = new CliWorld({ answer: () => ({ backend: 'sql', state: 'available', detail: null }) });
    expect(await well.run('graph', 'status', '--json')).toBe(0);
    expect(JSON.parse(well.out)).toMatchObject({ backend: 'sql' });
  });

  const rebuilding = (ending: object, jobId: string | null = 'j1') =>
    new CliWorld({
      answer: ({ method, path }: FakeCall) => {
        if (method === 'POST') return { job_id: jobId };
        return path === '/api/v1/jobs' ? { jobs: [{ id: 'j1' }] } : { ...job, ...ending };
      },
    });

  it('waits for the rebuild, also for one that is already running', async () => {
    for (const jobId of ['j1', null]) {
      const world = rebuilding({}, jobId);
      expect(await world.run('graph', 'rebuild')).toBe(0);
      expect(world.out).toContain('The graph is rebuilt.');
      expect(world.calls.at(-1)?.path).toBe('/api/v1/jobs/j1');
    }
  });

  it('prints why a rebuild was skipped or failed', async () => {
    const skipped = rebuilding({ state: 'skipped', reason: 'The tables are the graph.' });
    expect(await skipped.run('graph', 'rebuild')).toBe(0);
    expect(skipped.out).toContain('The tables are the graph.');
    const failed = rebuilding({ state: 'failed', reason: 'The disk is full.' });
    expect(await failed.run('graph', 'rebuild')).toBe(1);
    expect(failed.err).toContain('The disk is full.');
  });

  it('does not wait with --no-wait', async () => {
    const world = rebuilding({});
    expect(await world.run('graph', 'rebuild', '--no-wait')).toBe(0);
    expect(world.calls).toHaveLength(1);
    expect(world.out).toContain('headworks jobs watch j1');
  });

  it('lists the related entities of an entity in its space', async () => {
    const world = new CliWorld({
      answer: () => ({
        nodes: [
          { id: 'a', kind: 'entity', label: 'Ann', type: 'person' },
          { id: 'e', kind: 'event', label: 'It was decided.', type: 'Decision' },
        ],
        edges: [{ from: 'a', to: 'e', kind: 'ACTED_IN', role: 'owner' }],
      }),
    });
    expect(await world.run('entities', 'related', 'a', '--space', 'bi', '--limit', '7')).toBe(0);
    expect(world.calls[0]).toMatchObject({
      path: '/api/v1/knowledge/entities/a/related',
      query: { limit: 7, space: 'bi' },
    });
    expect(world.out).toMatch(/Ann\s+ACTED_IN \(owner\)\s+It was decided\./);
  });
});
