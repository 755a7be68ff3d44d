import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';

const hit = {
  chunk_id: 1,
  artifact_id: 'a',
  revision_id: 'r',
  type: 'email',
  source_system: 'gmail',
  source_id: 'm1',
  title: 'Launch',
  heading: 'Dates',
  source_ts: '2026-01-10T00:00:00.000Z',
  text: `${'before '.repeat(100)}the launch date is April. ${'after '.repeat(100)}`,
  start_char: 0,
  end_char: 10,
  score: 1,
  highlights: [{ start: 704, end: 710 }],
};
const answer = { primary_results: [hit], related_context: null, entities: null, expand_options: [] };

describe('headworks search', () => {
  it('sends the given filters and options', async () => {
    const world = new CliWorld({ answer: () => answer });
    const flags = [
      '--types',
      'email,note',
      '--from',
      '2026-01-01',
      '--graph-expand',
      '--graph-budget',
      '3',
      '--space',
      'bi',
    ];
    expect(await world.run('search', 'launch', 'date', ...flags)).toBe(0);
    expect(world.calls[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/knowledge/search',
      body: {
        query: 'launch date',
        limit: 5,
        filters: { types: ['email', 'note'], from: '2026-01-01' },
        graph_expand: true,
        graph_budget: 3,
        include_entities: false,
        space: 'bi',
      },
    });
  });

  it('shows each result around its first match, and the warning', async () => {
    const world = new CliWorld({
      answer: () => ({ ...answer, warning: 'Not all is embedded yet.' }),
    });
    await world.run('search', 'launch');
    expect(world.out).toContain('1. Launch › Dates');
    expect(world.out).toContain('email, m1, 2026-01-10');
    expect(world.out).toContain('…');
    expect(world.out).toContain('the launch date is April.');
    expect(world.err).toContain('Not all is embedded yet.');
  });

  it.each([
    ['Launch', '1. Launch  email'],
    ['Launch › Dates', '1. Launch › Dates  email'],
    ['Launches', '1. Launch › Launches  email'],
    [null, '1. Launch  email'],
  ])('prints the title once when the headings are %j', async (heading, line) => {
    const world = new CliWorld({ answer: () => ({ ...answer, primary_results: [{ ...hit, heading }] }) });
    await world.run('search', 'launch');
    expect(world.out).toContain(line);
  });

  it('shows related events and mentioned entities', async () => {
    const related = {
      type: 'event',
      id: 'e',
      category: 'Decision',
      reason: 'same_actor:Ann',
      summary: 'Ann decided.',
    };
    const world = new CliWorld({
      answer: () => ({
        ...answer,
        related_context: [{ ...related, event_time: null, artifact_id: 'a', evidence: [] }],
        entities: [
          { id: 'x', name: 'Ann', type: 'person', mentions: 1, relations: ['owner'] },
          { id: 'y', name: 'Bob', type: 'person', mentions: 1, relations: [] },
        ],
      }),
    });
    await world.run('search', 'launch', '--graph-expand', '--include-entities');
    expect(world.out).toContain('Decision: Ann decided.  same_actor:Ann');
    expect(world.out).toContain('Mentioned: Ann (person, owner), Bob (person)');
  });

  it('prints a message when nothing was found, and the response unchanged with --json', async () => {
    const empty = { ...answer, primary_results: [] };
    const world = new CliWorld({ answer: () => empty });
    await world.run('search', 'nothing');
    expect(world.out).toContain('Nothing was found.');
    const json = new CliWorld({ answer: () => empty });
    await json.run('search', 'nothing', '--json');
    expect(JSON.parse(json.out)).toEqual(empty);
  });
});
