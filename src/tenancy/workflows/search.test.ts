import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { searchWorkflow } from './knowledge.ts';
import type { KnowledgeSearch } from './workflow.ts';

type SearchInput = Parameters<KnowledgeSearch['search']>[0];

function workflow(
  search: KnowledgeSearch['search'] = async () => ({ answer: { primary_results: [] }, warning: null }),
  filterProblems: KnowledgeSearch['filterProblems'] = () => [],
) {
  const requests: SearchInput[] = [];
  const made = searchWorkflow({
    spaceProblem: async (_, space) => (space === 'x' ? null : 'is no space of this organization'),
    filterProblems,
    search: (request) => {
      requests.push(request);
      return search(request);
    },
  });
  return { made, requests };
}
const task = (options: object, parameters: object) =>
  ({
    organizationId: 'org_1',
    options,
    input: { parameters, files: [] },
    signal: new AbortController().signal,
  }) as never;

describe('the workflow search', () => {
  it('searches the organization’s space with the parameters of deployment and caller', async () => {
    const { made, requests } = workflow();
    await made.run(task({ space: 'bi', limit: 3 }, { query: 'risks', limit: 50, graph_expand: true }));
    expect(requests).toMatchObject([
      { organizationId: 'org_1', space: 'bi', query: 'risks', parameters: { limit: 3, graph_expand: true } },
    ]);
    expect(Object.keys(requests[0]?.parameters ?? {}).toSorted()).toEqual([
      'filters',
      'graph_expand',
      'limit',
    ]);
  });

  it('lets a caller narrow the filters of the deployment, never widen them', async () => {
    const { made, requests } = workflow();
    const fixed = { filters: { types: ['email'] }, graph_filters: ['Decision'] };
    const filtersOf = { filters: { types: ['note'], sources: ['files'] }, graph_filters: ['Feedback'] };
    await made.run(task(fixed, { query: 'risks', ...filtersOf }));
    expect(requests[0]?.parameters).toEqual({
      filters: { types: ['email'], sources: ['files'] },
      graph_filters: ['Decision'],
    });
    await made.run(task(fixed, { query: 'risks', filters: null, graph_filters: null }));
    expect(requests[1]?.parameters).toEqual(fixed);
  });

  it('reports problems of filters, of a deployment and of a request', async () => {
    const filtersOf: unknown[] = [];
    const problem = { field: 'filters.types.0', message: 'must be one of email, note' };
    const { made } = workflow(undefined, (fields) => {
      filtersOf.push(fields);
      return [problem];
    });
    const filters = { types: ['fax'] };
    expect(await made.checkOptions({ filters }, 'org_1')).toEqual([problem]);
    const parameters = { query: 'x', graph_filters: ['Gossip'] };
    expect(await made.checkInput({}, { parameters, files: [] })).toEqual([problem]);
    expect(filtersOf).toEqual([{ filters }, { graph_filters: ['Gossip'] }]);
  });

  it('passes on warnings and errors of knowledge', async () => {
    const warned = workflow(async () => ({ answer: [], warning: 'No vectors.' }));
    expect(await warned.made.run(task({}, { query: 'x' }))).toEqual({
      result: [],
      warnings: ['No vectors.'],
    });
    const failing = workflow(() => Promise.reject(new CoreError('NOT_FOUND', 'no such space')));
    await expect(failing.made.run(task({}, { query: 'x' }))).rejects.toThrow('no such space');
  });

  it('rejects unknown fields', async () => {
    const { made } = workflow();
    const fields = (problems: readonly { readonly field: string }[]) => problems.map(({ field }) => field);
    expect(fields(await made.checkOptions({ space: 'x', limit: 99, color: 'red' }, 'org_1'))).toEqual([
      'limit',
      'color',
    ]);
    expect(fields(await made.checkInput({}, { parameters: { organization: 'other' }, files: [] }))).toEqual([
      'query',
      'organization',
    ]);
    expect(
      await made.checkInput({}, { parameters: { query: 'x', include_entities: true }, files: [] }),
    ).toEqual([]);
    expect(fields(await made.checkInput({}, { parameters: { query: '\u200b \ufeff' }, files: [] }))).toEqual([
      'query',
    ]);
    const file = { name: 'a.txt', mediaType: 'text/plain', bytes: new Uint8Array() };
    expect(fields(await made.checkInput({}, { parameters: { query: 'x' }, files: [file] as never }))).toEqual(
      ['files'],
    );
  });
});
