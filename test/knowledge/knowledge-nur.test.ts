// The evaluation "nur" with real services, on a small corpus.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evaluateNur } from '../../bench/evaluation/nur.ts';
import { openEvaluationServices } from '../../bench/evaluation/services.ts';
import { systemClock } from '../../src/core/index.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld } from '../support/knowledge-world.ts';
import { temporaryFolder } from '../support/services.ts';

const kickOff = `Subject: Harbor Crane Migration
Date: 2025-05-05
Attendees: Nadia Petrov (Site Lead), Owen Clarke (Crane Engineer)

Nadia decided to start with the harbor crane migration in May.
Owen raised concerns about the wind.

## Action Items

- Owen: Order the new cable by May 12th
`;
const chat = `Thread: #cranes
Date: 2025-05-13

[08:10] owen.clarke:
The cable is delivered.

[08:12] nadia.petrov:
Good. I'll call Hafen Logistik GmbH today.
`;
const people = [
  { id: 'nadia', name: 'Nadia Petrov', type: 'PERSON' },
  { id: 'owen', name: 'Owen Clarke', type: 'PERSON' },
];
const crane = { id: 'crane', name: 'Harbor Crane Migration', type: 'PROJECT' };
const harbor = { id: 'harbor', name: 'Hafen Logistik GmbH', type: 'ORGANIZATION' };

const data: Readonly<Record<string, unknown>> = {
  'corpus/meetings/kick-off.txt': kickOff,
  'corpus/chats/cable.txt': chat,
  'ground_truth/entities.json': {
    global_entities: { people, projects: [crane], organizations: [harbor] },
    documents: {
      'meetings/kick-off.txt': { entities: [...people, crane] },
      'chats/cable.txt': { entities: [...people, harbor] },
    },
  },
  'ground_truth/events.json': {
    documents: {
      'meetings/kick-off.txt': {
        events: [
          {
            category: 'Decision',
            narrative: 'Nadia decided to start',
            actor: 'Nadia Petrov',
            evidence_quote: 'Nadia decided to start',
          },
          {
            category: 'Stakeholder',
            narrative: 'This was never said',
            actor: null,
            evidence_quote: 'this was never said anywhere',
          },
        ],
      },
    },
  },
  'ground_truth/graph_connections.json': {
    benchmark_queries: [
      {
        id: '1',
        seed: 'nadia',
        expected_connections: ['owen'],
        expected_docs: ['meetings/kick-off.txt', 'chats/cable.txt'],
      },
      { id: '2', seed_from: 'nadia', seed_to: 'crane', expected_docs: ['meetings/kick-off.txt'] },
      { id: '3', seed: 'unheard-of', expected_connections: ['owen'] },
    ],
  },
  'queries/queries.json': {
    queries: [
      {
        id: 'q1',
        query: 'Who ordered the cable?',
        relevant_documents: [
          { doc: 'chats/cable.txt', relevance: 2 },
          { doc: 'meetings/kick-off.txt', relevance: 2 },
        ],
      },
      { id: 'q2', query: 'Find what is connected to Nadia' },
    ],
  },
};

describe('evaluateNur', () => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld();
  });
  afterAll(() => world.dispose());

  const parts = async () => ({
    ...(await openEvaluationServices({
      database: world.database,
      clock: systemClock,
      ids: world.ids,
      embedders: embeddersOf(null),
      options: world.options,
      signal: new AbortController().signal,
    })),
    space: await world.space(),
  });

  it('measures entities, events, search and graph on a folder of this layout', async () => {
    const folder = await temporaryFolder();
    for (const [name, content] of Object.entries(data)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    }
    const figures = await evaluateNur(folder, await parts());
    expect(figures.documents).toBe(2);
    expect(figures.entities).toMatchObject({ f1: 1, expected: 6 });
    expect(figures.events).toMatchObject({ matched: 1, expected: 2 });
    expect(figures.events.precision).toBeLessThan(1);
    expect(figures.search).toMatchObject({
      queries: 1,
      mrr: 1,
      ndcg: 1,
      overAll: { queries: 2, mrr: 0.5, ndcg: 0.5 },
    });
    expect(figures.graph).toEqual({
      connectionF1: 0.5,
      documentF1: 1,
      overAll: { questions: 3, connectionF1: 1 / 3 },
    });
  });

  it('names the file that is missing or invalid', async () => {
    const folder = await temporaryFolder();
    const failing = evaluateNur(folder, await parts());
    await expect(failing).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(failing).rejects.toThrow('ground_truth/entities.json');
  });
});
