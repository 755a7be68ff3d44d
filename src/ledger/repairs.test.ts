import { expect, it } from 'vitest';
import type { JobQueue } from '../core/index.ts';
import type { RepairReport } from './repair-runner.ts';
import { ledgerRepairHandler, requestRepairs } from './repairs.ts';

it('calls beforeRequested before a requested repair run, not before a scheduled one', async () => {
  let calls = 0;
  const context = { id: '1', attempt: 1, signal: new AbortController().signal, progress: () => undefined };
  const run = async () => ({ tried: 0, withoutRepair: [] }) as unknown as RepairReport;
  const handler = ledgerRepairHandler({ run }, () => (calls += 1));
  await handler({ due: true }, context);
  expect(calls).toBe(0);
  await handler({}, context);
  await handler({ kind: 'knowledge.chunk-not-embedded' }, context);
  expect(calls).toBe(2);
});

it('requests a repair per kind and ignores a queue that fails', () => {
  const requested: unknown[] = [];
  const enqueue = async (_job: unknown, payload: unknown): Promise<string> => {
    requested.push(payload);
    throw new Error('The queue is unavailable.');
  };
  requestRepairs({ enqueue } as Pick<JobQueue, 'enqueue'>, ['a', 'b']);
  expect(requested).toEqual([{ kind: 'a' }, { kind: 'b' }]);
});
