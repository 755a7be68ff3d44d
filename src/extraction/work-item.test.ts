import { describe, expect, it } from 'vitest';
import { singlePage } from '../../test/support/extraction/pages.ts';
import type { RawPage } from './types.ts';
import { WorkItem } from './work-item.ts';

const page = (bytes = 1): RawPage => ({
  request: singlePage('users'),
  bytes: new Uint8Array(bytes),
  total: null,
  nextLink: null,
});
const known = new Set(['users']);
const item = (fields: Partial<ConstructorParameters<typeof WorkItem>[0]> = {}) =>
  new WorkItem({ contentType: 'users', page: page(), batchNumber: 0, ...fields }, known);

describe('a work item', () => {
  it('rejects an unknown type, an empty batch and a number below 0', () => {
    expect(() => item({ contentType: 'dragons' })).toThrow('contentType must be one of users, not "dragons"');
    expect(() => item({ page: page(0) })).toThrow('page must not be empty');
    expect(() => item({ batchNumber: -1 })).toThrow('batchNumber must be a whole number from 0, not -1');
    expect(item()).toMatchObject({ state: 'created', deaths: 0 });
  });

  it('moves from created through queued and processing to completed or failed only', () => {
    for (const end of ['completed', 'failed'] as const) {
      const work = item();
      for (const state of ['queued', 'processing', 'queued', 'processing', end] as const) work.become(state);
      expect(work.state).toBe(end);
      expect(() => work.become('queued')).toThrow(`cannot go from ${end} to queued`);
    }
    expect(() => item().become('completed')).toThrow('batch 0 cannot go from created to completed');
  });
});
