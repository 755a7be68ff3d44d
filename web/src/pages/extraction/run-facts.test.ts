import { describe, expect, it } from 'vitest';
import type { ExtractionRun } from '../../../../src/api/extraction.ts';
import { noFailures } from './run-facts.ts';

type Status = ExtractionRun['types'][number]['state'];

const titleOf = (state: ExtractionRun['state'], ...states: readonly Status[]) =>
  noFailures({
    state,
    types: states.map((state) => ({ type: state, state, items: 0, total: null })),
  });

describe('a run without failed pages', () => {
  it('shows what is pending while it runs, and when it was interrupted', () => {
    expect(titleOf('running', 'completed', 'running', 'queued')).toEqual({
      title: 'No failed pages so far',
      children: '2 of 3 types are not extracted yet.',
    });
    expect(titleOf('interrupted', 'completed', 'queued').children).toBe(
      '1 of 2 types are not extracted yet.',
    );
  });

  it('shows that items are missing when a type is incomplete', () => {
    expect(titleOf('incomplete', 'completed', 'incomplete').title).toBe(
      'No failed pages, but items are missing',
    );
  });

  it('shows that no page failed when all types are completed', () => {
    expect(titleOf('completed', 'completed').title).toBe('No failed pages');
  });
});
