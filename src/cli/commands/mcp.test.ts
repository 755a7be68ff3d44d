import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';

const ping = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`;
const tools = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`;

describe('headworks mcp', () => {
  it('writes only responses to standard output, until the input ends', async () => {
    const world = new CliWorld({ stdin: ping, answer: () => ({ kind: 'admin' }) });
    expect(await world.start('mcp')).toBe(0);
    expect(JSON.parse(world.out)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(world.err).toBe('');
    expect(world.openClients).toBe(0);
    expect(world.keys).toEqual([undefined]);
  });

  it.each([
    [{ HEADWORKS_API_KEY: 'hwo_one' }, [], 'hwo_one'],
    [{ HEADWORKS_API_KEY: 'hwo_one', ACME_KEY: 'hwo_two' }, ['--key-env', 'ACME_KEY'], 'hwo_two'],
  ])('uses the key of an organization: %j %j', async (env, args, key) => {
    const world = new CliWorld({ env, stdin: tools, answer: () => ({ kind: 'organization' }) });
    expect(await world.start('mcp', ...args)).toBe(0);
    expect(world.keys).toEqual([key]);
    expect(world.out).toContain('"name":"search"');
    expect(world.out).not.toContain('"name":"ledger"');
  });

  it('does not continue as the admin when the key is missing', async () => {
    const world = new CliWorld({ stdin: ping });
    expect(await world.run('mcp', '--key-env', 'ACME_KEY')).toBe(2);
    expect(world.err).toContain('ACME_KEY, but that variable is not set');
    expect(world.calls).toEqual([]);
    const empty = new CliWorld({ stdin: ping, env: { HEADWORKS_API_KEY: ' ' } });
    expect(await empty.run('mcp')).toBe(2);
    expect(empty.err).toContain('HEADWORKS_API_KEY is set, but empty');
    expect(empty.calls).toEqual([]);
  });

  it('explains its use on a terminal', async () => {
    const world = new CliWorld({ isTty: true, stdin: '', answer: () => ({ kind: 'admin' }) });
    expect(await world.start('mcp')).toBe(0);
    expect(world.err).toContain('configure a client to start it');
  });
});
