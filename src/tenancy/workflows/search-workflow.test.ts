import { describe, expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { searchWorkflow } from './search-workflow.ts';
import type { KnowledgeSearch } from './workflow-parts.ts';

type Wish = Parameters<KnowledgeSearch['search']>[0];

function workflow(
  search: KnowledgeSearch['search'] = async () => ({ answer: { primary_results: [] }, warning: null }),
  filterProblems: KnowledgeSearch['filterProblems'] = () => [],
) {
  const wishes: Wish[] = [];
  const made = searchWorkflow({
    spaceProblem: async (_, space) => (space === 'x' ? null : 'is no space of this organization'),
    filterProblems,
    search: (wish) => {
      wishes.push(wish);
      return search(wish);
    },
  });
  return { made, wishes };
}
const task = (options: object, parameters: object) =>
  ({
    organizationId: 'org_1',
    options,
    input: { parameters, files: [] },
    signal: new AbortController().signal,
  }) as never;

describe('the workflow search', () => {
  it('asks the organization’s own space, by what the deployment fixed and the caller asked for', async () => {
    const { made, wishes } = workflow();
    await made.run(task({ space: 'bi', limit: 3 }, { query: 'risks', limit: 50, graph_expand: true }));
    expect(wishes).toMatchObject([
      { organizationId: 'org_1', space: 'bi', query: 'risks', wish: { limit: 3, graph_expand: true } },
    ]);
    expect(Object.keys(wishes[0]?.wish ?? {}).toSorted()).toEqual(['filters', 'graph_expand', 'limit']);
  });

  it('lets a caller narrow what the deployment lets through, never widen it', async () => {
    const { made, wishes } = workflow();
    const fixed = { filters: { types: ['email'] }, graph_filters: ['Decision'] };
    const asked = { filters: { types: ['note'], sources: ['files'] }, graph_filters: ['Feedback'] };
    await made.run(task(fixed, { query: 'risks', ...asked }));
    expect(wishes[0]?.wish).toEqual({
      filters: { types: ['email'], sources: ['files'] },
      graph_filters: ['Decision'],
    });
    await made.run(task(fixed, { query: 'risks', filters: null, graph_filters: null }));
    expect(wishes[1]?.wish).toEqual(fixed);
  });

  it('lets knowledge say what is wrong with filters, of a deployment and of a request', async () => {
    const asked: unknown[] = [];
    const problem = { field: 'filters.types.0', message: 'must be one of email, note' };
    const { made } = workflow(undefined, (fields) => {
      asked.push(fields);
      return [problem];
    });
    const filters = { types: ['fax'] };
    expect(await made.checkOptions({ filters }, 'org_1')).toEqual([problem]);
    const parameters = { query: 'x', graph_filters: ['Gossip'] };
    expect(await made.checkInput({}, { parameters, files: [] })).toEqual([problem]);
    expect(asked).toEqual([{ filters }, { graph_filters: ['Gossip'] }]);
  });

  it('passes a warning on, and fails as knowledge does', async () => {
    const warned = workflow(async () => ({ answer: [], warning: 'No vectors.' }));
    expect(await warned.made.run(task({}, { query: 'x' }))).toEqual({
      result: [],
      warnings: ['No vectors.'],
    });
    const failing = workflow(() => Promise.reject(new CoreError('NOT_FOUND', 'no such space')));
    await expect(failing.made.run(task({}, { query: 'x' }))).rejects.toThrow('no such space');
  });

  it('refuses what it does not know', async () => {
    const { made } = workflow();
    const fields = (problems: readonly { readonly field: string }[]) => problems.map(({ field }) => field);
    expect(fields(await made.checkOptions({ space: 'x', limit: 99, colour: 'red' }, 'org_1'))).toEqual([
      'limit',
      'colour',
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
