import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { readFaults } from './simulate.ts';

/** Waits for the first output of the command: it then listens. */
async function waitForOutput(world: CliWorld, pattern: RegExp): Promise<string> {
  for (;;) {
    const found = pattern.exec(world.out)?.[1];
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('headworks simulate looker', () => {
  it('prints its address and credentials, and ends with 130 after Ctrl-C', async () => {
    const world = new CliWorld();
    const exit = world.start('simulate', 'looker', '--port', '0', '--items', 'users=3,groups=2');
    const url = await waitForOutput(world, /LOOKER_BASE_URL +(http:\/\/127\.0\.0\.1:\d+)\n/);
    expect(world.out).toMatch(/LOOKER_CLIENT_ID +simulated-client\n +LOOKER_CLIENT_SECRET +simulated-secret/);
    const login = await fetch(`${url}/api/4.0/login`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: 'simulated-client', client_secret: 'simulated-secret' }),
    });
    const { access_token: token } = (await login.json()) as { access_token: string };
    const answer = await fetch(`${url}/api/4.0/users/search`, {
      headers: { authorization: `token ${token}` },
    });
    expect(await answer.json()).toHaveLength(3);
    world.interrupt('SIGINT');
    expect(await exit).toBe(130);
    expect(world.err).toContain('Stopped after 2 calls.');
    await expect(fetch(url)).rejects.toThrow();
  });

  it('prints JSON lines, and ends with 0 after SIGTERM', async () => {
    const world = new CliWorld();
    const exit = world.start('simulate', 'looker', '--port', '0', '--json');
    await waitForOutput(world, /"state":"(ready)"/);
    world.interrupt('SIGTERM');
    expect(await exit).toBe(0);
    const lines = world.out.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ client_id: 'simulated-client', client_secret: 'simulated-secret' }),
      { state: 'stopped', stats: expect.objectContaining({ total: 0 }) },
    ]);
  });

  it('applies its flags', async () => {
    const world = new CliWorld();
    const flags =
      '--items looks=30 --page-limit 4 --rate-limit 3/min,2/s --retry-after milliseconds --no-total ' +
      '--fail looks:offset=20:404,looks:id=7 --faults 503=0,slow=0:5,malformed=0 --item-bytes 5000 --token-lifetime 60 --seed 5';
    const exit = world.start('simulate', 'looker', '--json', '--port', '0', ...flags.split(' '));
    const url = await waitForOutput(world, /"url":"(\S+?)"/);
    const login = await fetch(
      `${url}/api/4.0/login?client_id=simulated-client&client_secret=simulated-secret`,
      { method: 'POST' },
    );
    const { access_token: token, expires_in: lifetime } = (await login.json()) as Record<
      string,
      string | number
    >;
    expect(lifetime).toBe(60);
    const get = (path: string) =>
      fetch(`${url}/api/4.0${path}`, { headers: { authorization: `token ${token}` } });
    const page = await get('/looks/search?limit=10&offset=16&sorts=id');
    expect(page.status).toBe(404);
    const looks = await get('/looks/search?limit=10&sorts=id');
    expect(looks.headers.get('x-total-count')).toBeNull();
    expect((await looks.text()).length).toBeGreaterThanOrEqual(4 * 4_900);
    const refused = await get('/looks/7');
    expect([refused.status, refused.headers.get('retry-after-ms')]).toEqual([429, '1000']);
    await world.clock.advance(1_000);
    expect((await get('/looks/7')).status).toBe(500);
    world.interrupt();
    await exit;
  });

  it('accepts faults by name alone, with a low probability', () => {
    const names = ['hang', 'reset', 'truncated', 'expired-token', 'malformed', 'duplicate'] as const;
    expect(readFaults(`429=0.05,500=0.02,slow=0.1:200,${names.join(',')}`)).toEqual({
      '429': { probability: 0.05 },
      '500': { probability: 0.02 },
      slow: { probability: 0.1, ms: 200 },
      ...Object.fromEntries(names.map((name) => [name, { probability: 0.02 }])),
    });
  });

  it.each([
    [['--items', 'dashbords=5'], /--items .*"dashbords=5" must be type=count .* of dashboards, /],
    [['--items', 'looks=x'], /--items .*"looks=x" must be type=count with a count from 0 to 10000000/],
    [['--items', 'explores=5'], /--items .*lookml_models=1 or more/],
    [['--rate-limit', '5/h'], /--rate-limit .*"5\/h" must be R\/min, R\/s or both/],
    [['--rate-limit', '0/s'], /--rate-limit .*"0\/s" must be .* R from 1 to 1000000/],
    [['--faults', '429=0.1,fire=1'], /--faults .*"fire=1" must be .* of 429, 500, /],
    [['--faults', 'hang,500=0.1,hang=0.5'], /--faults .*"hang=0.5" must be given once/],
    [['--faults', 'slow:200'], /--faults .*"slow:200" must be name, name=probability or /],
    [['--faults', '500=1.1'], /--faults .*"500=1.1" must be .* probability from 0 to 1/],
    [['--fail', 'looks:offset=x'], /--fail .*"looks:offset=x" must be type:offset=N or type:id=ID/],
    [['--port', '70000'], /"70000" of --port is invalid. It must be a whole number from 0 to 65535/],
    [['--retry-after', 'soon'], /"soon" of --retry-after is invalid. Allowed choices are seconds, date, /],
  ])('rejects %j with the allowed values', async (flags, expected) => {
    const world = new CliWorld();
    expect(await world.start('simulate', 'looker', ...flags)).toBe(2);
    expect(world.err).toMatch(expected);
    expect(world.out).toBe('');
  });
});
