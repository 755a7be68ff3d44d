// Calls that travel together.
import { describe, expect, it } from 'vitest';
import { CallBatch } from './call-batch.ts';

function start({ largest = 100, failure }: { largest?: number; failure?: Error } = {}) {
  const sent: string[][] = [];
  const batch = new CallBatch<string, string>({
    send: (waiting) => {
      const calls = waiting.map(({ call }) => call);
      sent.push(calls);
      return failure ? Promise.reject(failure) : Promise.resolve(calls.map((call) => `${call}!`));
    },
    answer: (replies, index, call) => `${call} → ${String(replies[index])}`,
    largest,
  });
  return { sent, batch };
}

describe('a batch of calls', () => {
  it('sends calls of one moment as one, in their order, and gives everybody the own answer', async () => {
    const { sent, batch } = start();
    const answers = await Promise.all(['a', 'b', 'c'].map((call) => batch.ask(call)));
    expect(answers).toEqual(['a → a!', 'b → b!', 'c → c!']);
    expect(sent).toEqual([['a', 'b', 'c']]);
  });

  it('keeps nobody waiting for a later moment', async () => {
    const { sent, batch } = start();
    const first = batch.ask('a');
    await Promise.resolve();
    expect(sent).toEqual([['a']]);
    await Promise.all([first, batch.ask('b')]);
    expect(sent).toEqual([['a'], ['b']]);
  });

  it('sends no more than the largest batch as one', async () => {
    const { sent, batch } = start({ largest: 2 });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((call) => batch.ask(call)));
    expect(sent).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('tells everybody of a failure, and goes on', async () => {
    const { sent, batch } = start({ failure: new Error('away') });
    const answers = await Promise.allSettled([batch.ask('a'), batch.ask('b')]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(batch.ask('c')).rejects.toThrow('away');
    expect(sent).toHaveLength(2);
  });
});
