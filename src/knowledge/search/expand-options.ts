// What else a search could be asked for: said with every answer, so that whoever reads it (often a model) can go on.
import { eventCategories } from '../ports.ts';
import type { SearchAnswer } from '../ports.ts';

export const expandOptions: SearchAnswer['expandOptions'] = [
  {
    parameter: 'graph_expand',
    describe: 'Also give events that share an actor or a subject with the first results.',
    values: 'true or false',
  },
  { parameter: 'graph_budget', describe: 'Related items at most.', values: '0 to 50' },
  {
    parameter: 'graph_seed_limit',
    describe: 'How many of the first results are followed.',
    values: '0 to 50',
  },
  {
    parameter: 'graph_filters',
    describe: 'Only related events of these categories.',
    values: eventCategories.join(', '),
  },
  {
    parameter: 'include_entities',
    describe: 'Also give who and what is mentioned.',
    values: 'true or false',
  },
];
