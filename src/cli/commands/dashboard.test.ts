import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';

const link = { path: '/dashboard/login#a-token', expires_at: '2026-03-01T12:10:00.000Z' };

describe('headworks dashboard', () => {
  it('prints only a link to the running server', async () => {
    const world = new CliWorld({ answer: () => link });
    expect(await world.run('dashboard')).toBe(0);
    expect(world.calls).toMatchObject([{ method: 'POST', path: '/api/v1/dashboard/login-links' }]);
    expect(world.out).toBe('http://127.0.0.1:8420/dashboard/login#a-token\n');
    expect(world.err).toBe('');
    expect(world.openClients).toBe(0);
  });

  it('includes the expiry in JSON', async () => {
    const world = new CliWorld({ answer: () => link });
    expect(await world.run('dashboard', '--json')).toBe(0);
    expect(JSON.parse(world.out)).toEqual({
      url: 'http://127.0.0.1:8420/dashboard/login#a-token',
      expires_at: link.expires_at,
    });
  });

  it('does not start a server that would be gone before the link is opened', async () => {
    const world = new CliWorld({ isOwnServer: true, answer: () => link });
    expect(await world.run('dashboard')).not.toBe(0);
    expect(world.calls).toEqual([]);
    expect(world.out).toBe('');
    expect(world.err).toContain('headworks serve');
  });
});
