// The workflow `search`: a query in, what a space of the organization knows about it out.
import type { Workflow, WorkflowTask } from '../ports.ts';
import type { FieldCheck, Fields } from './check-fields.ts';
import { checkFields, flag, isGiven, text, whole } from './check-fields.ts';
import type { KnowledgeSearch } from './workflow-parts.ts';

const longestQuery = 10_000;

/** What a deployment may fix, and what a caller may ask for where it did not. */
const wishChecks: Readonly<Record<string, FieldCheck>> = {
  limit: whole(1, 50),
  graph_expand: flag,
  graph_budget: whole(0, 50),
  graph_seed_limit: whole(0, 50),
  include_entities: flag,
};

export function searchWorkflow(knowledge: KnowledgeSearch): Workflow {
  return {
    name: 'search',
    unavailable: null,
    checkOptions: async (options) =>
      checkFields(options, { space: text(100), ...wishChecks }, 'the workflow search'),
    checkInput: async (_, { parameters, files }) => [
      ...(isGiven(parameters['query']) ? [] : [{ field: 'query', message: 'is missing: what to look for' }]),
      ...checkFields(parameters, { query: text(longestQuery), ...wishChecks }, 'the workflow search'),
      ...(files.length > 0 ? [{ field: 'files', message: 'are not taken by the workflow search' }] : []),
    ],
    run: async ({ organizationId, options, input, signal }: WorkflowTask) => {
      const { answer, warning } = await knowledge.search({
        organizationId,
        space: typeof options['space'] === 'string' ? options['space'] : null,
        query: String(input.parameters['query']),
        ...wishOf({ ...given(input.parameters), ...given(options) }),
        signal,
      });
      return { result: answer, warnings: warning === null ? [] : [warning] };
    },
  };
}

const given = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));

function wishOf(fields: Fields): Pick<Parameters<KnowledgeSearch['search']>[0], 'wish'> {
  const { limit, graph_expand, graph_budget, graph_seed_limit, include_entities } = fields;
  const wish = {
    limit,
    graphExpand: graph_expand,
    graphBudget: graph_budget,
    graphSeedLimit: graph_seed_limit,
    includeEntities: include_entities,
  };
  return { wish: Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined)) };
}
