// The example of docs/guide/knowledge.md, read without a model: two people with one name stay separate, the decider is found,
// and the operator statements of founding document 004 work.
import { readFile, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openEvaluationServices } from '../../bench/evaluation/services.ts';
import { systemClock } from '../../src/core/index.ts';
import {
  openFileParser,
  parseIngestRequest,
  TextThreads,
} from '../../src/knowledge/documents/text-threads.ts';
import { searchDefaults } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { embeddersOf, knowledgeWorld } from '../support/knowledge-world.ts';

const folder = new URL('../../examples/knowledge/notes/', import.meta.url);

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await knowledgeWorld();
});
afterAll(() => world.dispose());

const { signal } = new AbortController();

const notes = (await readdir(folder)).sort();

/** Ingests the documents of the example. */
async function readExample(order: readonly string[] = notes) {
  const { database, ids, options } = world;
  const embedders = embeddersOf(null);
  const services = await openEvaluationServices({
    database,
    clock: systemClock,
    ids,
    embedders,
    options,
    signal,
  });
  const space = await world.space();
  const documents = openFileParser(systemClock);
  onTestFinished(() => documents.close());
  for (const name of order) {
    const content = { name, mediaType: '', bytes: await readFile(new URL(name, folder)) };
    const { text, sourceTs, ...read } = await parseIngestRequest(
      { documents, texts: new TextThreads(systemClock), maxDocumentBytes: options.maxDocumentBytes },
      { content },
      { signal },
    );
    await services.artifacts.ingest(
      space,
      { ...read, content: { text }, ...(sourceTs === null ? {} : { sourceTs }) },
      signal,
    );
  }
  return { services, space };
}

it('distinguishes two people with one name and finds who decided what', async () => {
  const { services, space } = await readExample();
  const people = await services.entities.list({ spaceId: space.spaceId, type: 'person', limit: 50 });
  const known = people.map(({ canonicalName, email, organization }) => [canonicalName, email, organization]);
  expect(known).toContainEqual(['Alice Chen', 'alice.chen@acme.example', null]);
  expect(known).toContainEqual(['Alice Chen', null, 'OtherCorp']);
  const decisions = await services.events.list({ spaceId: space.spaceId, category: 'Decision', limit: 50 });
  expect(decisions.map(({ narrative }) => narrative)).toContain(
    'We decided with Bob to move the launch of Project Beacon to April 15.',
  );
  const answer = await services.search.search(
    space,
    { ...searchDefaults, query: 'when was the launch moved' },
    signal,
  );
  expect(answer.primaryResults[0]?.title).toBe('Billing service before the launch');
});

it('finds the same people and pairs in every order of the documents', async () => {
  const rotated = (at: number, all: readonly string[]) => [...all.slice(at), ...all.slice(0, at)];
  const results: unknown[] = [];
  for (const order of notes.flatMap((_, at) => [rotated(at, notes), rotated(at, notes.toReversed())])) {
    const { services, space } = await readExample(order);
    const people = await services.entities.list({ spaceId: space.spaceId, type: 'person', limit: 50 });
    const described: string[] = [];
    for (const { entityId, canonicalName, email, organization, mentionCount, eventCount } of people) {
      const { pairs } = await services.entities.get(space, entityId);
      const counts = [mentionCount, eventCount, pairs.filter(({ state }) => state === 'open').length];
      described.push([canonicalName, email, organization, ...counts].join(' '));
    }
    results.push(described.sort());
  }
  const [first, ...others] = results;
  for (const other of others) expect(other).toEqual(first);
});

it('runs the operator statements of the founding document', async () => {
  const { space } = await readExample();
  const { rows: retry } = await world.database.query<{ entity_id: string; canonical_name: string }>(sql`
    SELECT entity_id, canonical_name, entity_type
    FROM entity
    WHERE needs_review = true
       OR context_embedding IS NULL`);
  // No embedder is configured, so all are listed.
  expect(retry.map(({ canonical_name }) => canonical_name)).toEqual(
    expect.arrayContaining(['Alice Chen', 'Bob Smith', 'Carol Davis']),
  );
  const { rows: uses } = await world.database.query<{ canonical_name: string; uses: number }>(sql`
    select canonical_name,
      (select count(*) from entity_mention m where m.entity_id = e.entity_id)
      + (select count(*) from entity_alias a where a.entity_id = e.entity_id and a.normalized_alias <> a.alias)
      + (select count(*) from event_actor v join semantic_event using (event_id) where v.entity_id = e.entity_id)
      + (select count(*) from event_subject s where s.entity_id = e.entity_id) as uses
    from entity e where e.space_id = ${space.spaceId}`);
  expect(uses.every(({ uses: count }) => count > 1)).toBe(true);
});

it('rejects aliases without a space, and moves event actors, as the founding document merges manually', async () => {
  const { services, space } = await readExample();
  const people = await services.entities.list({ spaceId: space.spaceId, type: 'person', limit: 50 });
  const [a, b] = people.filter(({ canonicalName }) => /^(Bob Smith|Carol Davis)$/.test(canonicalName));
  const merged = world.database.query(sql`
    INSERT INTO entity_alias (entity_id, alias, normalized_alias)
    SELECT ${a?.entityId}::uuid, alias, normalized_alias
    FROM entity_alias WHERE entity_id = ${b?.entityId}::uuid
    ON CONFLICT DO NOTHING`);
  await expect(merged).rejects.toThrow('space_id');
  await world.database.query(sql`
    UPDATE event_actor SET entity_id = ${a?.entityId}::uuid WHERE entity_id = ${b?.entityId}::uuid`);
  const events = await services.events.list({ spaceId: space.spaceId, limit: 50 });
  // Both participated in one event: it lists the remaining one once per role.
  const seats = events.map(({ actors }) => actors.map(({ entityId, role }) => `${entityId} ${role}`));
  expect(seats.every((own) => new Set(own).size === own.length)).toBe(true);
  expect(seats.flat().some((seat) => seat.startsWith(b?.entityId ?? ''))).toBe(false);
});
