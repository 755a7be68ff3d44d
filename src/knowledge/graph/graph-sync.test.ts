import { expect, it } from 'vitest';
import { silentLog } from '../../core/index.ts';
import type { ChunkStepResult } from '../artifacts/types.ts';
import { noopLedger } from '../degradations.ts';
import { emptyBatch } from './graph-source.ts';
import { GraphSync } from './graph-sync.ts';
import type { Graph } from './graph.ts';

it('marks chunks of older revisions as SUPERSEDED', async () => {
  const saved: ChunkStepResult[] = [];
  const removed: unknown[] = [];
  const sync = new GraphSync({
    graph: {
      backend: 'age',
      isSeparateStore: true,
      availability: async () => ({ state: 'available' }),
      upsert: async () => [],
      remove: async (_space: number, ids: unknown) => void removed.push(ids),
    } as unknown as Graph,
    source: {
      chunkBatch: async (spaceId: number) => emptyBatch(spaceId),
      superseded: async () => ({ chunkIds: [1], eventIds: ['event'] }),
    } as never,
    artifacts: { saveSteps: async (_space, results) => void saved.push(...results) },
    ledger: noopLedger,
    log: silentLog,
  });
  const results = await sync.put(7, [2], new AbortController().signal);
  expect(results).toEqual([{ chunkId: 2, step: 'graph', status: 'completed' }]);
  expect(removed).toEqual([{ entityIds: [], eventIds: ['event'] }]);
  expect(saved).toEqual([{ chunkId: 1, step: 'graph', status: 'skipped', cause: 'SUPERSEDED' }]);
});
