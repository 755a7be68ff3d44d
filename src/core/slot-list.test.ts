import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Listed } from './slot-list.ts';
import { SlotList } from './slot-list.ts';

const item = (): Listed => ({ slot: undefined });

it('has the same items as a set', () => {
  const changes = fc.array(fc.record({ adds: fc.boolean(), index: fc.nat({ max: 9 }) }), { maxLength: 100 });
  fc.assert(
    fc.property(changes, (steps) => {
      const items = Array.from({ length: 10 }, item);
      const list = new SlotList<Listed>();
      const set = new Set<Listed>();
      for (const { adds, index } of steps) {
        const changed = items[index] as Listed;
        list[adds ? 'add' : 'delete'](changed);
        set[adds ? 'add' : 'delete'](changed);
        expect(list.size).toBe(set.size);
        expect(new Set(list.values())).toEqual(set);
      }
    }),
  );
});

it('allows changes while its items are visited', () => {
  const list = new SlotList<Listed>();
  const items = [item(), item(), item()];
  for (const each of items) list.add(each);
  const visited = [];
  for (const each of list.values()) {
    visited.push(each);
    list.delete(each);
    list.add(item());
  }
  expect(visited).toEqual(items);
  expect(list.size).toBe(3);
});
