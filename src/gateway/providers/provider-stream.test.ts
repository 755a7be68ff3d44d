// Time of a stream without pauses of its consumer.
import { tokens } from '../../../test/support/gateway/routing-world.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { describe, expect, it } from 'vitest';
import { linkSignals } from '../../core/index.ts';
import { providerMs, ProviderStreamBody } from './provider-stream.ts';
import { StreamReader } from './stream-reader.ts';

describe('the time of a provider for a stream', () => {
  it.each([
    [
      'all of it when the consumer is quick',
      [
        [0, 300],
        [0, 200],
      ],
      500,
    ],
    [
      'not that of a slow consumer when the next chunk has arrived',
      [
        [5_000, 0],
        [7_000, 0],
      ],
      0,
    ],
    ['all of it when even a slow consumer has to wait', [[5_000, 100]], 5_100],
    ['not that of the consumer when a busy machine delivers late what had arrived', [[5_000, 20]], 20],
    [
      'what came after a slow consumer had caught up',
      [
        [5_000, 0],
        [0, 400],
        [3_000, 0],
      ],
      400,
    ],
    [
      'all of it when many chunks come in a millisecond',
      [
        [0.25, 0.25],
        [0.25, 0.25],
      ],
      1,
    ],
  ] as const)('is %s', (_what, steps, ms) => {
    const all: readonly (readonly [consumerMs: number, waitedMs: number])[] = steps;
    expect(all.reduce((sum, [consumerMs, waitedMs]) => sum + providerMs(consumerMs, waitedMs), 0)).toBe(ms);
  });

  it('continues during a read and pauses while the consumer processes', async () => {
    const clock = new VirtualClock();
    const chunk = Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n');
    const open = () => {
      const link = linkSignals(new AbortController().signal);
      const chunks = (async function* () {
        await clock.sleep(250);
        yield chunk;
        await clock.sleep(100_000, link.signal);
      })();
      return new ProviderStreamBody({
        chunks,
        reader: new StreamReader(1),
        link,
        clock,
        idleMs: 20_000,
        tokens: () => tokens,
        model: 'a',
      });
    };
    const stalled = open();
    await clock.run(stalled.next());
    const reading = stalled.next();
    await clock.advance(500);
    await stalled.return();
    await expect(reading).rejects.toMatchObject({ code: 'GATEWAY_STREAM_INTERRUPTED' });
    expect(await stalled.ended).toMatchObject({ failureClass: 'canceled', streamMs: 750 });
    const paused = open();
    await clock.run(paused.next());
    await clock.advance(9_000);
    await paused.return();
    expect(await paused.ended).toMatchObject({ failureClass: 'canceled', streamMs: 250 });
  });
});
