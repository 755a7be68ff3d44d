// Webhooks: sent with the end of an execution, signed, retried, and recorded when all attempts failed.
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { HttpResponse, HttpRequest, HttpTransport } from '../../src/core/index.ts';
import { HttpFailure } from '../../src/core/index.ts';
import { VirtualClock } from '../support/core/virtual-clock.ts';
import type { LedgerEntry } from '../../src/ledger/index.ts';
import {
  accepted,
  CountedSlots,
  exampleDeployment,
  executionWorld,
  other,
} from '../support/tenancy/execution-world.ts';

const url = 'https://receiver.example/hook';
const hooked = [exampleDeployment({ webhookUrl: url })];
const otherId = '0195a1b2-0000-7000-8000-00000000000b';
const key = Buffer.from('a secret of 32 bytes, more or le');

/** Returns these statuses, one after the other, then repeats the last; `0` is a network failure. */
function receiver(statuses: readonly number[]) {
  const received: HttpRequest[] = [];
  const transport: HttpTransport = {
    request: async (request) => {
      received.push(request);
      const status = statuses[Math.min(received.length, statuses.length) - 1] ?? 200;
      if (status === 0) throw new HttpFailure('network', 'POST receiver.example: connection refused.');
      return { status, headers: {}, discard: async () => undefined } as unknown as HttpResponse;
    },
    close: async () => undefined,
  };
  return { received, transport };
}

describe('a webhook', () => {
  it('has the outcome of the execution, signed as in Standard Webhooks', async () => {
    const clock = new VirtualClock();
    const { received, transport } = receiver([204]);
    const world = await executionWorld({
      clock,
      transport,
      deployments: hooked,
      run: async () => ({ sum: 3 }),
    });
    await world.work();
    const { executionId } = await accepted(world);
    await clock.advance(0);
    expect(received).toHaveLength(1);
    const { method, headers = {}, body } = received[0] as HttpRequest;
    expect([method, received[0]?.url, headers['webhook-id']]).toEqual(['POST', url, executionId]);
    expect(headers['webhook-timestamp']).toBe(String(Math.floor(clock.now() / 1_000)));
    const signed = `${executionId}.${headers['webhook-timestamp']}.${String(body)}`;
    expect(headers['webhook-signature']).toBe(
      `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
    );
    expect(JSON.parse(String(body))).toMatchObject({
      type: 'execution.completed',
      timestamp: new Date(clock.now()).toISOString(),
      data: { execution_id: executionId, deployment: 'invoices', status: 'completed', result: { sum: 3 } },
    });
    expect(world.recorded).toEqual([]);
  });

  it('is sent for canceled executions, and not by deployments without one', async () => {
    const clock = new VirtualClock();
    const { received, transport } = receiver([200]);
    const world = await executionWorld({ clock, transport, deployments: hooked });
    const { executionId } = await accepted(world);
    await world.executions.cancel(executionId);
    await world.work();
    await clock.advance(0);
    expect(received.map(({ body }) => JSON.parse(String(body)) as { type: string })).toMatchObject([
      { type: 'execution.canceled' },
    ]);
    const silent = await executionWorld({ clock, transport });
    await silent.work();
    await accepted(silent);
    await clock.advance(60_000);
    expect(received).toHaveLength(1);
  });

  it('is retried with the same id after any failure, including redirects (N4)', async () => {
    const clock = new VirtualClock();
    const { received, transport } = receiver([500, 0, 302, 404, 200]);
    const world = await executionWorld({ clock, transport, deployments: hooked });
    await world.work();
    await accepted(world);
    await clock.advance(10 * 60_000);
    expect(received).toHaveLength(5);
    expect(received.every((each) => each.url === url)).toBe(true);
    expect(new Set(received.map(({ headers }) => headers?.['webhook-id'])).size).toBe(1);
    expect(new Set(received.map(({ headers }) => headers?.['webhook-timestamp'])).size).toBe(5);
    expect(new Set(received.map(({ body }) => String(body))).size).toBe(1);
    expect(world.recorded).toEqual([]);
  });

  it('that hangs does not delay those of other organizations, and its endpoint is left out after three timeouts', async () => {
    const clock = new VirtualClock();
    const received: string[] = [];
    const transport: HttpTransport = {
      request: async ({ url: address, signal }) => {
        received.push(address);
        if (address.includes('hanging')) await clock.sleep(86_400_000, signal);
        return { status: 200, headers: {}, discard: async () => undefined } as unknown as HttpResponse;
      },
      close: async () => undefined,
    };
    const deployments = [
      exampleDeployment({ webhookUrl: 'https://hanging.example/hook' }),
      exampleDeployment({ id: otherId, organizationId: other, webhookUrl: url }),
    ];
    const world = await executionWorld({ clock, transport, deployments, slots: new CountedSlots(50) });
    for (let count = 0; count < 40; count++) await accepted(world);
    await accepted(world, { organization: 'othe', callerOrganizationId: other });
    await world.work();
    await clock.advance(1_000);
    expect(received.filter((address) => address === url)).toHaveLength(1);
    const hanging = () => received.length - 1;
    expect(hanging()).toBe(4);
    await clock.advance(60_000);
    // Without the circuit breaker, four every 15 seconds.
    expect(hanging()).toBeLessThan(10);
  });

  it.each([
    ['after about a day', [503], 19],
    ['at once when the endpoint is gone', [410], 1],
  ])(
    'is given up %s, with a row in the ledger whose repair sends it again',
    async (_when, statuses, tries) => {
      const clock = new VirtualClock();
      const { received, transport } = receiver([
        ...statuses,
        ...Array<number>(tries - 1).fill(503),
        503,
        200,
      ]);
      const world = await executionWorld({ clock, transport, deployments: hooked });
      await world.work();
      const { executionId } = await accepted(world);
      await clock.advance(3 * 86_400_000);
      expect(received).toHaveLength(tries);
      expect(world.recorded).toMatchObject([{ kind: 'deployments.webhook-failed', subject: executionId }]);
      const [repair] = world.repairs;
      const { signal } = new AbortController();
      const row = (subject: string) => ({ subject }) as LedgerEntry;
      expect(await repair?.repair(row(executionId), signal)).toMatchObject({ outcome: 'still-broken' });
      expect(await repair?.repair(row(executionId), signal)).toEqual({ outcome: 'repaired' });
      expect(await repair?.repair(row('0195a1b2-0000-7000-8000-0000000000ff'), signal)).toEqual({
        outcome: 'gone',
      });
    },
  );
});
