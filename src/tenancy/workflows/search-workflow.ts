// The workflow `search`: a query in, what a space of the organization knows about it out.
import type { Workflow, WorkflowProblem, WorkflowTask } from '../ports.ts';
import type { FieldCheck, Fields } from './check-fields.ts';
import { anything, checkFields, flag, isGiven, text, whole } from './check-fields.ts';
import { spaceOption, spaceProblems, spaceWarnings } from './check-space.ts';
import type { KnowledgeSearch } from './workflow-parts.ts';

const longestQuery = 10_000;

/** What a deployment may fix, and what a caller may ask for where it did not. */
const wishChecks: Readonly<Record<string, FieldCheck>> = {
  limit: whole(1, 50),
  filters: anything,
  graph_expand: flag,
  graph_budget: whole(0, 50),
  graph_seed_limit: whole(0, 50),
  graph_filters: anything,
  include_entities: flag,
};

export function searchWorkflow(knowledge: KnowledgeSearch): Workflow {
  const check = (fields: Fields, ownChecks: Readonly<Record<string, FieldCheck>>): WorkflowProblem[] => {
    const { filters, graph_filters } = given(fields);
    return [
      ...checkFields(fields, { ...ownChecks, ...wishChecks }, 'the workflow search'),
      ...knowledge.filterProblems({ filters, graph_filters }),
    ];
  };
  return {
    name: 'search',
    unavailable: null,
    checkOptions: async (options, organizationId) => [
      ...check(options, spaceOption),
      ...(await spaceProblems(knowledge, options, organizationId)),
    ],
    warnings: (options, organizationId) => spaceWarnings(knowledge, options, organizationId),
    checkInput: async (_, { parameters, files }) => [
      ...(isGiven(parameters['query']) ? [] : [{ field: 'query', message: 'is missing: what to look for' }]),
      ...check(parameters, { query: text(longestQuery) }),
      ...(files.length > 0 ? [{ field: 'files', message: 'are not taken by the workflow search' }] : []),
    ],
    run: async ({ organizationId, options, input, signal }: WorkflowTask) => {
      const { answer, warning } = await knowledge.search({
        organizationId,
        space: typeof options['space'] === 'string' ? options['space'] : null,
        query: String(input.parameters['query']),
        wish: wishOf(given(input.parameters), given(options)),
        signal,
      });
      return { result: answer, warnings: warning === null ? [] : [warning] };
    },
  };
}

const given = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));

/** What is fixed counts; filters one by one, so that a caller may narrow what a deployment lets through. */
function wishOf(asked: Fields, fixed: Fields): Fields {
  const filters = { ...(asked['filters'] as Fields), ...(fixed['filters'] as Fields) };
  const wish: Fields = { ...asked, ...fixed, filters };
  return Object.fromEntries(Object.entries(wish).filter(([field]) => Object.hasOwn(wishChecks, field)));
}
