import { describe, expect, it } from 'vitest';
import { emptyKnowledgeServices } from '../../test/support/knowledge-services.ts';
import type { SearchRequest, Space } from '../knowledge/index.ts';
import { knowledgeSearchOf } from './workflow-services.ts';

const space: Space = {
  spaceId: 7,
  organizationId: 'org_1',
  name: 'bi',
  language: 'english',
  createdAt: new Date(0),
};

function world() {
  const requests: { readonly space: Space; readonly request: SearchRequest }[] = [];
  const owners: (readonly [string | null, string | undefined])[] = [];
  const made = knowledgeSearchOf({
    spaces: {
      ...emptyKnowledgeServices.spaces,
      resolve: async (organizationId, name) => {
        owners.push([organizationId, name]);
        return space;
      },
    },
    search: {
      search: async (where, request) => {
        requests.push({ space: where, request });
        return { primaryResults: [], relatedContext: null, entities: null, expandOptions: [], warning: 'W.' };
      },
    },
  });
  return { made, requests, owners };
}

describe('search for workflows', () => {
  it('searches the space of the organization with the default parameters', async () => {
    const { made, requests, owners } = world();
    const id = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
    const filters = { types: ['email'], from: '2026-03-01T00:00:00Z', entity_ids: [id] };
    const { warning } = await made.search({
      organizationId: 'org_1',
      space: 'bi',
      query: 'risks',
      parameters: { limit: 3, filters, graph_filters: ['Decision'] },
      signal: new AbortController().signal,
    });
    expect(owners).toEqual([['org_1', 'bi']]);
    expect(requests).toEqual([
      {
        space,
        request: {
          query: 'risks',
          limit: 3,
          filter: { types: ['email'], from: new Date('2026-03-01T00:00:00Z'), entityIds: [id] },
          graphExpand: false,
          graphBudget: 10,
          graphSeedLimit: 3,
          graphFilters: ['Decision'],
          includeEntities: false,
        },
      },
    ]);
    expect(warning).toBe('W.');
  });

  it('reports all problems of filters', () => {
    const { made } = world();
    expect(made.filterProblems({ filters: undefined, graph_filters: undefined })).toEqual([]);
    expect(
      made.filterProblems({
        filters: { types: ['fax'], from: 'yesterday', entity_ids: ['7'], color: 'red' },
        graph_filters: ['Gossip'],
      }),
    ).toEqual([
      { field: 'filters.types.0', message: 'must be one of email, doc, chat, transcript, note' },
      {
        field: 'filters.from',
        message: 'must be a day or a moment in UTC, like 2026-03-01 or 2026-03-01T12:00:00Z',
      },
      {
        field: 'filters.entity_ids.0',
        message: 'must be an id, like 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
      },
      { field: 'filters.color', message: 'is unknown' },
      { field: 'graph_filters.0', message: expect.stringMatching(/^must be one of Commitment, /) },
    ]);
    expect(made.filterProblems({ filters: { sources: ['a\0'] }, graph_filters: undefined })).toEqual([
      {
        field: 'filters.sources.0',
        message: 'must not contain the character U+0000 or an unpaired surrogate',
      },
    ]);
    expect(made.filterProblems({ filters: 'email', graph_filters: 'Decision' })).toEqual([
      { field: 'filters', message: 'must be an object' },
      { field: 'graph_filters', message: 'must be a list' },
    ]);
  });
});
