import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { KnowledgeError } from '../errors.ts';
import { emptyBatch } from './graph-source.ts';
import type { GraphBatch } from './graph.ts';
import type { GraphWriter } from './write-batch.ts';
import { writeBatch } from './write-batch.ts';

const { signal } = new AbortController();
const part = (names: readonly string[]): GraphBatch => ({
  ...emptyBatch(1),
  entities: names.map((entityId) => ({ entityId, name: entityId, type: 'person' })),
});

/** Applies the table's outcome to each name; a list fails or hangs with its first bad item. */
function writer(bad: Readonly<Record<string, Error | 'hang' | 'lost'>>, clock: VirtualClock) {
  const written: string[] = [];
  const calls: number[] = [];
  const write: GraphWriter = async (_what, _space, items) => {
    calls.push(items.length);
    const ids = items.map((item) => ('entityId' in item ? item.entityId : ''));
    const first = ids.map((id) => bad[id]).find((what) => what !== undefined && what !== 'lost');
    if (first === 'hang') {
      queueMicrotask(() => void clock.advance(5_000));
      return new Promise(() => undefined);
    }
    if (first instanceof Error) throw first;
    written.push(...ids.filter((id) => bad[id] === undefined));
    return ids.flatMap((id, place) => (bad[id] === 'lost' ? [place] : []));
  };
  return { write, written, calls };
}

const run = (bad: Parameters<typeof writer>[0], names: readonly string[]) => {
  const clock = new VirtualClock(0);
  const { write, ...seen } = writer(bad, clock);
  return { ...seen, result: writeBatch(write, part(names), { clock, timeoutMs: 5_000 }, signal) };
};

describe('writeBatch', () => {
  it('writes a list in one call, and duplicates once', async () => {
    const { result, written, calls } = run({}, ['a', 'b', 'a']);
    expect(await result).toEqual([]);
    expect(written).toEqual(['a', 'b']);
    expect(calls).toEqual([2]);
  });

  it('writes item by item when a list fails and returns the failed one', async () => {
    const { result, written } = run({ b: new SyntaxError('bad cypher') }, ['a', 'b', 'c']);
    expect(await result).toEqual([{ what: 'entity', id: 'b', cause: 'SyntaxError' }]);
    expect(written).toEqual(['a', 'c']);
  });

  it('gives up on a node that exceeds the timeout and continues', async () => {
    const { result, written } = run({ b: 'hang' }, ['a', 'b', 'c']);
    expect(await result).toEqual([{ what: 'entity', id: 'b', cause: 'DEADLINE_EXCEEDED' }]);
    expect(written).toEqual(['a', 'c']);
  });

  it('stops trying after several timeouts in a row', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    const { result, calls } = run(Object.fromEntries(names.map((name) => [name, 'hang'])), names);
    expect(await result).toHaveLength(20);
    expect(calls).toEqual([20, 1, 1, 1]);
  });

  it('returns items that were accepted but are missing', async () => {
    const { result } = run({ b: 'lost' }, ['a', 'b']);
    expect(await result).toEqual([{ what: 'entity', id: 'b', cause: 'NOT_WRITTEN' }]);
  });

  it.each([
    new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', 'away'),
    new CoreError('STATE_UNAVAILABLE', 'away'),
  ])('fails as a whole when the graph or store is unavailable: $code', async (error) => {
    await expect(run({ a: error }, ['a', 'b']).result).rejects.toBe(error);
  });
});
