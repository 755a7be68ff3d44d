import { describe, expect, it } from 'vitest';
import { CallBatch } from './redis-slot-store.ts';

function start({ maxSize = 100, failure }: { maxSize?: number; failure?: Error } = {}) {
  const sent: string[][] = [];
  const batch = new CallBatch<string, string>({
    send: (waiting) => {
      const calls = waiting.map(({ call }) => call);
      sent.push(calls);
      return failure ? Promise.reject(failure) : Promise.resolve(calls.map((call) => `${call}!`));
    },
    read: (replies, index, call) => `${call} → ${String(replies[index])}`,
    maxSize,
  });
  return { sent, batch };
}

describe('a batch of calls', () => {
  it('sends calls of the same tick as one batch, in order, and returns each its own result', async () => {
    const { sent, batch } = start();
    const answers = await Promise.all(['a', 'b', 'c'].map((call) => batch.add(call)));
    expect(answers).toEqual(['a → a!', 'b → b!', 'c → c!']);
    expect(sent).toEqual([['a', 'b', 'c']]);
  });

  it('does not wait for a later tick', async () => {
    const { sent, batch } = start();
    const first = batch.add('a');
    await Promise.resolve();
    expect(sent).toEqual([['a']]);
    await Promise.all([first, batch.add('b')]);
    expect(sent).toEqual([['a'], ['b']]);
  });

  it('splits calls beyond the maximum size into several batches', async () => {
    const { sent, batch } = start({ maxSize: 2 });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((call) => batch.add(call)));
    expect(sent).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('rejects every call of a failed batch, and accepts further calls', async () => {
    const { sent, batch } = start({ failure: new Error('down') });
    const answers = await Promise.allSettled([batch.add('a'), batch.add('b')]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(batch.add('c')).rejects.toThrow('down');
    expect(sent).toHaveLength(2);
  });
});
