// Conversations that are continued by their id: long ones do not block the main thread.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { moment } from '../../../test/support/gateway/examples.ts';
import { MemoryResponseStore } from '../../../test/support/gateway/memory-stores.ts';
import { maxTaskMs, repeatedTaskMs } from '../../../test/support/longest-task.ts';
import { silentEmitter } from '../../core/index.ts';
import { StoredResponses } from './stored-responses.ts';

async function world(count: number, response: (index: number) => object) {
  const store = new MemoryResponseStore();
  for (let index = 0; index < count; index++)
    await store.add({
      id: `resp_${index}`,
      caller: 'admin',
      previousId: null,
      createdAt: new Date(moment(0)),
      input: '[]',
      response: JSON.stringify(response(index)),
      itemIds: [`item_${index}`],
    });
  return new StoredResponses({ clock: new VirtualClock(moment(0)), events: silentEmitter, store });
}

const referenceTo = (count: number) =>
  Buffer.from(
    JSON.stringify({
      model: 'm',
      input: Array.from({ length: count }, (_, index) => ({ type: 'item_reference', id: `item_${index}` })),
    }),
  );

describe('references to stored items', () => {
  const names = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [`k${index}`, 1]));
  const item = (index: number) => ({ id: `item_${index}`, type: 'message', role: 'assistant', content: 'a' });

  it('in large responses are replaced without blocking (B1)', { timeout: 60_000 }, async () => {
    const responses = await world(18, (index) => ({ output: [item(index)], metadata: names }));
    const expand = () => responses.expand(referenceTo(18), 'admin');
    expect(JSON.parse((await expand()).input ?? '')).toEqual(Array.from({ length: 18 }, (_, at) => item(at)));
    expect(await repeatedTaskMs(expand)).toBeLessThan(maxTaskMs);
  });

  it('in responses of more than 20 million characters together are rejected', async () => {
    const text = 'a'.repeat(5_000_000);
    const responses = await world(4, (index) => ({ output: [{ ...item(index), content: text }] }));
    await expect(responses.expand(referenceTo(4), 'admin')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(responses.expand(referenceTo(3), 'admin')).resolves.toMatchObject({ previousId: null });
  });
});
