// Empty services of knowledge: a test overrides those it is about.
import { CoreError } from '../../src/core/index.ts';
import type { ServerDeps } from '../../src/http/index.ts';

const nothing = async (): Promise<never> => {
  throw new CoreError('NOT_FOUND', 'There is nothing in this test server.');
};
const none = async (): Promise<readonly never[]> => [];

/** `createTestDeps({ knowledge: { ...emptyKnowledgeServices, search: … } })`. */
export const emptyKnowledgeServices: ServerDeps['knowledge'] = {
  spaces: { resolve: nothing, list: none, create: nothing, delete: nothing },
  artifacts: {
    maxDocumentBytes: 1_000_000,
    ingest: nothing,
    estimate: nothing,
    list: none,
    get: nothing,
    revisions: nothing,
    delete: nothing,
  },
  entities: {
    list: none,
    get: nothing,
    merge: nothing,
    unmerge: nothing,
    split: nothing,
    review: none,
    decide: nothing,
  },
  events: { list: none, get: nothing },
  search: { search: nothing },
  graph: { requestRebuild: nothing, status: nothing, around: nothing },
  folders: { list: none, create: nothing, delete: nothing, scan: nothing },
};
