import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { KnowledgeError } from '../errors.ts';
import { ReadingPatience } from './read-chunk-patience.ts';

const { signal } = new AbortController();

function patient() {
  const clock = new VirtualClock();
  const patience = new ReadingPatience(clock, 30_000);
  let asked = 0;
  const ask = (outcome: Promise<string>, within = signal) =>
    patience
      .ask(() => {
        asked += 1;
        return outcome;
      }, within)
      .catch((error: unknown) => String(error));
  return { clock, ask, asked: () => asked };
}

const away = () => Promise.reject(new Error('away'));

describe('patience with a model that reads', () => {
  it('leaves it alone after two failures in a row, and fails at once with the last', async () => {
    const { ask, asked } = patient();
    await ask(away());
    await ask(Promise.resolve('read'));
    await ask(away());
    await ask(away());
    expect(asked()).toBe(4);
    expect(await ask(Promise.resolve('read'))).toBe('Error: away');
    expect(asked()).toBe(4);
  });

  it('lets one find out later whether it is back, and all when it is', async () => {
    const { clock, ask, asked } = patient();
    await ask(away());
    await ask(away());
    await clock.advance(30_000);
    const probe = Promise.withResolvers<string>();
    const first = ask(probe.promise);
    expect(await ask(Promise.resolve('read'))).toBe('Error: away');
    expect(asked()).toBe(3);
    probe.resolve('read');
    expect(await first).toBe('read');
    expect(await ask(Promise.resolve('read'))).toBe('read');
  });

  it('asks nobody else while others are out and one has failed', async () => {
    const { ask, asked } = patient();
    const slow = Promise.withResolvers<string>();
    const out = ask(slow.promise);
    await ask(away());
    const next = ask(Promise.resolve('read'));
    slow.reject(new Error('late'));
    expect(await Promise.all([out, next])).toEqual(['Error: late', 'Error: late']);
    expect(asked()).toBe(2);
  });

  it('counts neither answers that cannot be used nor jobs that end', async () => {
    const { ask } = patient();
    const unusable = () => Promise.reject(new KnowledgeError('KNOWLEDGE_READING_FAILED', 'unusable'));
    const ended = AbortSignal.abort();
    for (let time = 0; time < 3; time++) {
      await ask(unusable());
      await ask(away(), ended);
    }
    expect(await ask(Promise.resolve('read'))).toBe('read');
  });
});
