import { expect, it } from 'vitest';
import { VirtualClock } from '../../../test/support/core/virtual-clock.ts';
import { RunWriter } from './run-job.ts';
import type { ExtractionRun } from './stores.ts';
import { noFigures } from './stores.ts';

const run: ExtractionRun = {
  ...noFigures,
  id: '018f0000-0000-7000-8000-000000000001',
  source: 'shop',
  origin: 'http',
  vault: 'shop.vault',
  state: 'running',
  jobId: null,
  session: null,
  startedAt: null,
  finishedAt: null,
  reportedAt: new Date(0),
  message: null,
};

it('writes a new session id at once, so that a retried job resumes that session', async () => {
  const clock = new VirtualClock();
  const written: (string | null)[] = [];
  const runs = {
    put: async ({ session }: ExtractionRun) => {
      written.push(session);
      return true;
    },
  };
  const writer = new RunWriter(runs, clock, run);
  expect(writer.change({ calls: 1 })).toBe(false);
  expect(writer.change({ session: 'first' })).toBe(true);
  expect(writer.change({ session: 'first', calls: 2 })).toBe(false);
  await writer.close({});
  // At the start, with the session, and at the end.
  expect(written).toEqual([null, 'first', 'first']);
});
