// Artifacts, revisions, chunks, mentions and events in a real store: accepted, replaced and deleted together.
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunkText } from '../../src/knowledge/documents/chunk.ts';
import { DocumentModel } from '../../src/knowledge/documents/document.ts';
import { EntityStore } from '../../src/knowledge/entities/entity-store.ts';
import { MergeStore } from '../../src/knowledge/entities/merge-store.ts';
import { EventStore } from '../../src/knowledge/events/event-store.ts';
import type { EntityResolutionResult, Space } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { Database } from '../../src/platform/postgres/ports.ts';
import { entityWorld, mentionOf } from '../support/entity-world.ts';
import { bracketReader, exactResolver } from '../support/knowledge-doubles.ts';
import { GraphSource } from '../../src/knowledge/graph/graph-source.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { documentOf, knowledgeWorld } from '../support/knowledge-world.ts';

const signal = new AbortController().signal;

describe.each(['server', 'embedded'] as const)('artifacts in Postgres (%s)', (kind) => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld(kind);
  });
  afterAll(() => world.dispose());

  const counts = async (spaceId: number) => {
    const { rows } = await world.database.query<Record<string, number>>(sql`
      select (select count(*) from artifact where space_id = ${spaceId}) as artifacts,
        (select count(*) from artifact_revision where space_id = ${spaceId}) as revisions,
        (select count(*) from chunk where space_id = ${spaceId}) as chunks,
        (select count(*) from chunk_step where space_id = ${spaceId}) as steps,
        (select count(distinct chunk_id) from chunk_posting where space_id = ${spaceId}) as posted,
        (select coalesce(sum(chunk_count), 0)::integer from corpus_total where space_id = ${spaceId}) as total,
        (select count(*) from entity where space_id = ${spaceId}) as entities,
        (select count(*) from entity_mention where space_id = ${spaceId}) as mentions,
        (select count(*) from semantic_event where space_id = ${spaceId}) as events,
        (select count(*) from event_actor where space_id = ${spaceId}) as actors,
        (select count(*) from event_evidence where space_id = ${spaceId}) as evidence,
        (select count(*) from entity_pair where space_id = ${spaceId}) as pairs,
        (select count(*) from entity_merge where space_id = ${spaceId}) as merges,
        (select count(*) from entity_alias where space_id = ${spaceId}) as aliases`);
    return rows[0] ?? {};
  };

  /** Reads a chunk as a job would. */
  const readInto = async (
    chunk: Awaited<ReturnType<KnowledgeWorld['accept']>>['stored'][number] | undefined,
  ) => {
    if (!chunk) throw new Error('no chunk');
    const reading = await bracketReader('rules').read(
      {
        chunk,
        document: new DocumentModel({ title: '', type: 'note', sourceTs: null, text: chunk.text }),
        caller: 'admin',
      },
      signal,
    );
    const results = await exactResolver(world).resolve(reading.mentions, chunk, 'admin', signal);
    return world.events.write(chunk, 'rules', { ...reading, results });
  };

  it('accepts artifact, revision, chunks, postings and job together', async () => {
    const space = await world.space();
    const text = 'Ann met Bob. They agreed.';
    const incoming = documentOf({
      text,
      mentions: [owner],
      metadata: { page: 1 },
      warnings: ['O\0ne.\uD83D'],
    });
    const drafts = [
      { position: 0, startChar: 0, endChar: 12, tokenCount: 4, heading: 'Day › One', text: 'Ann met Bob.' },
      { position: 1, startChar: 13, endChar: 25, tokenCount: 3, heading: null, text: 'They agreed.' },
    ];
    const jobs: unknown[] = [];
    const accepted = await world.artifacts.accept(space, incoming, drafts, async (revision) => {
      jobs.push(revision);
      return world.ids.uuid();
    });
    expect(accepted).toMatchObject({ outcome: 'added', chunks: 2, jobId: expect.any(String) as string });
    expect(jobs).toEqual([{ spaceId: space.spaceId, revisionId: accepted.revisionId }]);
    expect(await world.artifacts.chunks(accepted.revisionId)).toMatchObject(drafts);
    expect(await world.artifacts.revision(space.spaceId, accepted.revisionId)).toMatchObject({
      text,
      title: incoming.title,
      tokenCount: 7,
      isLatest: true,
      metadata: { page: 1, mentions: [owner] },
      warnings: ['One.\uFFFD'],
      jobId: accepted.jobId,
    });
    expect(await counts(space.spaceId)).toMatchObject({ chunks: 2, posted: 2, total: 2, steps: 2 });
  });

  it('writes nothing when the job cannot be enqueued', async () => {
    const space = await world.space();
    const refused = world.artifacts.accept(space, documentOf({ text: 'a b' }), [], () =>
      Promise.reject(new Error('no job')),
    );
    await expect(refused).rejects.toThrow('no job');
    expect(await counts(space.spaceId)).toMatchObject({ artifacts: 0, revisions: 0 });
  });

  // The embedded store has one session.
  if (kind === 'server')
    it('accepts each document in its own transaction, and locks the totals of the space only at its end', async () => {
      const outside = AsyncLocalStorage.snapshot();
      const space = await world.space();
      const totalsAreFree = async () => {
        await world.database.query(
          sql`select from corpus_total where space_id = ${space.spaceId} for update nowait`,
        );
        return world.ids.uuid();
      };
      for (const text of ['One.', 'Two.', 'Three.'])
        await world.artifacts.accept(space, documentOf({ text }), chunkText(text), () =>
          outside(totalsAreFree),
        );
      expect(await counts(space.spaceId)).toMatchObject({ artifacts: 3, total: 3 });
    });

  it('writes nothing for unchanged content', async () => {
    const space = await world.space();
    const document = { sourceId: 'a', text: 'Ann decided.' };
    const first = await world.accept(space, document);
    const second = await world.accept(space, { ...document, metadata: { seen: 'again' } });
    expect(second).toMatchObject({ outcome: 'unchanged', revisionId: first.revisionId, jobId: null });
    expect(await counts(space.spaceId)).toMatchObject({ artifacts: 1, revisions: 1, chunks: 1 });
  });

  it('stores concurrent ingests of the same source as one artifact', async () => {
    const space = await world.space();
    const outcomes = await Promise.all(
      ['one', 'two', 'three'].map((text) => world.accept(space, { sourceId: 'a', text })),
    );
    expect(new Set(outcomes.map(({ artifactUid }) => artifactUid)).size).toBe(1);
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['added', 'revised', 'revised']);
    expect(await counts(space.spaceId)).toMatchObject({ artifacts: 1, revisions: 3, posted: 1, total: 1 });
  });

  it('supersedes the old revision and its events', async () => {
    const space = await world.space();
    const first = await world.accept(space, { sourceId: 'a', text: '[Ann] decided.' });
    await readInto(first.stored[0]);
    const second = await world.accept(space, { sourceId: 'a', text: '[Bob] decided.', type: 'doc' });
    expect(second).toMatchObject({ outcome: 'revised', artifactUid: first.artifactUid });
    await readInto(second.stored[0]);
    const filter = { spaceId: space.spaceId, limit: 10 };
    expect((await world.events.list(filter)).map(({ narrative }) => narrative)).toEqual(['Bob decided.']);
    expect(
      (await world.events.list({ ...filter, includeSuperseded: true })).map(({ narrative, supersededAt }) => [
        narrative,
        supersededAt !== null,
      ]),
    ).toEqual([
      ['Bob decided.', false],
      ['Ann decided.', true],
    ]);
    expect(await world.artifacts.list(filter)).toMatchObject([
      { revisionId: second.revisionId, type: 'doc', isLatest: true },
    ]);
    expect(
      (await world.artifacts.revisions(space.spaceId, first.artifactUid)).map((each) => each.isLatest),
    ).toEqual([true, false]);
    expect(await counts(space.spaceId)).toMatchObject({ posted: 1, total: 1, chunks: 2 });
  });

  it('marks events written after a newer revision as superseded at once', async () => {
    const space = await world.space();
    const first = await world.accept(space, { sourceId: 'a', text: '[Ann] decided.' });
    await world.accept(space, { sourceId: 'a', text: 'Other.' });
    await readInto(first.stored[0]);
    expect(await world.events.list({ spaceId: space.spaceId, limit: 10 })).toEqual([]);
  });

  it('replaces the rows of a chunk that is read again, and deletes entities that nothing mentions any more', async () => {
    const space = await world.space();
    const { stored } = await world.accept(space, { text: '[Ann] decided. [Bob] decided.' });
    const [chunk] = stored;
    expect(await readInto(chunk)).toEqual({ eventIds: [], entityIds: [] });
    const before = await world.events.list({ spaceId: space.spaceId, limit: 10 });
    expect(await readInto(chunk)).toMatchObject({ entityIds: [] });
    expect(await counts(space.spaceId)).toMatchObject({
      mentions: 2,
      events: 2,
      entities: 2,
      actors: 2,
      evidence: 2,
    });
    if (!chunk) throw new Error('no chunk');
    const gone = await world.events.write(chunk, 'model', {
      mentions: [],
      results: [],
      events: [],
    });
    expect(gone.entityIds).toHaveLength(2);
    expect(gone.eventIds).toHaveLength(2);
    expect(gone.eventIds).not.toEqual(before.map(({ eventId }) => eventId));
    expect(await counts(space.spaceId)).toMatchObject({
      mentions: 0,
      events: 0,
      entities: 0,
      actors: 0,
      evidence: 0,
    });
  });

  it('writes a mention of an entity that was merged meanwhile to its winner', async () => {
    const space = await world.space();
    const [ann, anne] = await entitiesOf(space.spaceId, ['Ann', 'Anne']);
    await world.database.query(
      sql`update entity set merged_into = ${ann}::uuid where entity_id = ${anne}::uuid`,
    );
    const { stored } = await world.accept(space, { text: 'Anne decided.' });
    await writeMention(stored[0], anne ?? '');
    const { rows } = await world.database.query<{ id: string }>(
      sql`select entity_id as id from entity_mention where space_id = ${space.spaceId}`,
    );
    expect(rows).toEqual([{ id: ann }]);
  });

  it('rejects a mention of a deleted entity or chunk', async () => {
    const space = await world.space();
    const { stored, artifactUid } = await world.accept(space, { text: 'Anne decided.' });
    await expect(writeMention(stored[0], world.ids.uuid())).rejects.toMatchObject({
      code: 'CONFLICT',
      isRetryable: true,
    });
    await world.artifacts.remove(space.spaceId, artifactUid);
    await expect(writeMention(stored[0], world.ids.uuid())).rejects.toMatchObject({
      code: 'CONFLICT',
      isRetryable: false,
    });
  });

  const writeOwner = (
    { space, ...revision }: { space: Space; artifactUid: string; revisionId: string },
    entityId: string,
  ) =>
    world.events.write({ spaceId: space.spaceId, ...revision, chunkId: null }, 'structured', {
      mentions: [mentionOf('Ann')],
      results: [resultOf(entityId)],
      relations: ['owner'],
      events: [],
    });

  it('keeps structured mentions with their relations, and replaces them', async () => {
    const space = await world.space();
    const { artifactUid, revisionId } = await world.accept(space, { text: 'A dashboard.' });
    const [ann] = await entitiesOf(space.spaceId, ['Ann']);
    for (let turn = 0; turn < 2; turn++) await writeOwner({ space, artifactUid, revisionId }, ann ?? '');
    const { rows } = await world.database.query(sql`
      select relation, chunk_id as "chunkId", method, surface_form as name from entity_mention
      where space_id = ${space.spaceId}`);
    expect(rows).toEqual([{ relation: 'owner', chunkId: null, method: 'structured', name: 'Ann' }]);
  });

  it('adds structured mentions to the graph with chunk 0 only', async () => {
    const space = await world.space();
    const { artifactUid, revisionId, stored } = await world.accept(space, { text: 'One. Two.' }, [
      'One.',
      'Two.',
    ]);
    const [ann] = await entitiesOf(space.spaceId, ['Ann']);
    await writeOwner({ space, artifactUid, revisionId }, ann ?? '');
    const source = new GraphSource(world.database);
    const namesOf = async (position: number) =>
      (await source.chunkBatch(space.spaceId, stored[position]?.chunkId ?? 0))?.entities.map(
        ({ name }) => name,
      );
    expect(await namesOf(0)).toEqual(['Ann']);
    expect(await namesOf(1)).toEqual([]);
  });

  it('deletes an artifact with everything derived only from it', async () => {
    const space = await world.space();
    const kept = await world.accept(space, { text: '[Ann] decided.' });
    await readInto(kept.stored[0]);
    const before = await counts(space.spaceId);
    const doomed = await world.accept(space, {
      text: '[Ann] decided. [Bob] decided. [Eve] came.',
      sourceId: 'd',
    });
    await world.accept(space, { text: 'A second revision of it.', sourceId: 'd' });
    await readInto(doomed.stored[0]);
    const [bob, eve, ann] = await entitiesOf(space.spaceId, ['Bob', 'Eve', 'Ann']);
    await addPairAndMerge(space.spaceId, bob ?? '', eve ?? '');
    await world.database.query(sql`
      insert into entity_alias (entity_id, space_id, alias, normalized_alias) values (${bob}, ${space.spaceId}, 'Bobby', 'bobby')`);
    const gone = await world.artifacts.remove(space.spaceId, doomed.artifactUid);
    expect(gone?.eventIds).toHaveLength(2);
    expect(new Set(gone?.entityIds)).toEqual(new Set([bob, eve]));
    expect(await counts(space.spaceId)).toEqual(before);
    expect((await world.events.list({ spaceId: space.spaceId, entityId: ann ?? '', limit: 5 })).length).toBe(
      1,
    );
    expect(await world.artifacts.remove(space.spaceId, doomed.artifactUid)).toBeNull();
  });

  // The embedded store has one session.
  if (kind === 'server')
    it('keeps an entity that another writer has locked to mention it', async () => {
      const space = await world.space();
      const doomed = await world.accept(space, { text: '[Bob] decided. [Eve] came.' });
      await readInto(doomed.stored[0]);
      const [bob, eve] = await entitiesOf(space.spaceId, ['Bob', 'Eve']);
      const locked = Promise.withResolvers<void>();
      const removed = Promise.withResolvers<void>();
      const writer = world.database.transaction(async (transaction) => {
        await transaction.query(sql`select from entity where entity_id = ${bob}::uuid for key share`);
        locked.resolve();
        await removed.promise;
      });
      await locked.promise;
      const gone = await world.artifacts.remove(space.spaceId, doomed.artifactUid).finally(removed.resolve);
      await writer;
      expect(gone?.entityIds).toEqual([eve]);
      expect(await entitiesOf(space.spaceId, ['Bob'])).toEqual([bob]);
    });

  it('deletes a merge without remaining mentions, and names that only the deleted artifact used', async () => {
    const space = await world.space();
    const kept = await world.accept(space, { text: '[Ann] decided.' });
    await readInto(kept.stored[0]);
    const doomed = await world.accept(space, { text: '[Annie] decided.' });
    await readInto(doomed.stored[0]);
    const [ann, annie] = await entitiesOf(space.spaceId, ['Ann', 'Annie']);
    await merge(space.spaceId, ann ?? '', annie ?? '');
    await world.database.query(sql`
      insert into entity_alias (entity_id, space_id, alias, normalized_alias)
      values (${ann}, ${space.spaceId}, 'Annie', 'annie'), (${ann}, ${space.spaceId}, 'Ann', 'ann')
      on conflict do nothing`);
    await world.artifacts.remove(space.spaceId, doomed.artifactUid);
    expect(await counts(space.spaceId)).toMatchObject({ entities: 1, merges: 0, aliases: 1, mentions: 1 });
  });

  it('keeps a merge while a mention that it moved remains', async () => {
    const space = await world.space();
    for (const [sourceId, text] of [
      ['a', '[Ann] came.'],
      ['b', '[Annie] came.'],
      ['c', '[Annie] went.'],
    ] as const)
      await readInto((await world.accept(space, { sourceId, text })).stored[0]);
    const [ann, annie] = await entitiesOf(space.spaceId, ['Ann', 'Annie']);
    await merge(space.spaceId, ann ?? '', annie ?? '');
    const [last] = await world.artifacts.list({ spaceId: space.spaceId, limit: 1 });
    await world.artifacts.remove(space.spaceId, last?.artifactUid ?? '');
    expect(await counts(space.spaceId)).toMatchObject({ entities: 2, merges: 1, mentions: 2 });
  });

  it('lists latest revisions with chunks to backfill; failed steps are left to repairs', async () => {
    const space = await world.space();
    const old = await world.accept(space, { sourceId: 'a', text: 'Old.' });
    const { stored } = await world.accept(space, { sourceId: 'a', text: 'One. Two. Three.' }, [
      'One.',
      'Two.',
      'Three.',
    ]);
    const [one, two, three] = stored.map(({ chunkId }) => chunkId);
    if (one === undefined || two === undefined || three === undefined) throw new Error('no chunks');
    await world.artifacts.saveSteps(space.spaceId, [
      { chunkId: one, step: 'read', status: 'failed', cause: 'X', message: 'Y.' },
      { chunkId: one, step: 'read', status: 'completed', method: 'model' },
      { chunkId: two, step: 'read', status: 'completed', method: 'rules' },
      { chunkId: 999_999_999, step: 'read', status: 'completed' },
    ]);
    const isIncomplete = async (readByRules: boolean) =>
      (await world.artifacts.listIncomplete({ readByRules, notInGraph: false, limit: 1_000 })).some(
        ({ revisionId }) => revisionId === stored[0]?.revisionId,
      );
    expect(await isIncomplete(false)).toBe(true);
    await world.artifacts.saveSteps(space.spaceId, [
      { chunkId: three, step: 'read', status: 'failed', cause: 'X' },
    ]);
    expect(await isIncomplete(false)).toBe(false);
    expect(await isIncomplete(true)).toBe(true);
    await world.artifacts.saveSteps(space.spaceId, [
      { chunkId: two, step: 'read', status: 'completed', method: 'rules', cause: 'X' },
    ]);
    expect(await isIncomplete(true)).toBe(false);
    expect(old.stored).toHaveLength(1);
    expect(await world.artifacts.steps(stored[0]?.revisionId ?? '')).toContainEqual({
      chunkId: one,
      step: 'read',
      status: 'completed',
      method: 'model',
      updatedAt: new Date(world.clock.now()),
    });
  });

  it('returns nothing of one space for another', async () => {
    const [mine, other] = [await world.space(), await world.space()];
    const { artifactUid, revisionId, stored } = await world.accept(mine, { text: '[Ann] decided.' });
    await readInto(stored[0]);
    const [event] = await world.events.list({ spaceId: mine.spaceId, limit: 1 });
    const { artifacts, events } = world;
    expect(await artifacts.get(other.spaceId, artifactUid)).toBeNull();
    expect(await artifacts.revision(other.spaceId, revisionId)).toBeNull();
    expect(await artifacts.revisions(other.spaceId, artifactUid)).toEqual([]);
    expect(await artifacts.chunk(other.spaceId, stored[0]?.chunkId ?? 0)).toBeNull();
    expect(await artifacts.list({ spaceId: other.spaceId, limit: 9, before: revisionId })).toEqual([]);
    expect(await artifacts.remove(other.spaceId, artifactUid)).toBeNull();
    await expect(events.get(other, event?.eventId ?? '')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await events.get(mine, event?.eventId ?? '')).toEqual(event);
    expect(await events.list({ spaceId: other.spaceId, artifactUid, limit: 9 })).toEqual([]);
    await artifacts.saveSteps(other.spaceId, [
      { chunkId: stored[0]?.chunkId ?? 0, step: 'read', status: 'failed' },
    ]);
    expect((await artifacts.steps(revisionId)).map(({ step }) => step)).toEqual(['index']);
  });

  const owner = { surfaceForm: 'Ann', type: 'person', relation: 'owner', contextClues: {} } as const;

  const mentionOf = (surfaceForm: string) =>
    ({
      ref: 'm',
      surfaceForm,
      canonicalSuggestion: surfaceForm,
      type: 'person',
      contextClues: {},
      startChar: null,
      endChar: null,
      confidence: 1,
      method: 'structured',
    }) as const;

  const resultOf = (entityId: string): EntityResolutionResult => ({
    entityId,
    isNew: false,
    mergedFrom: null,
    uncertainMatch: null,
    byName: null,
    canonicalName: '',
  });

  const writeMention = async (
    chunk: Awaited<ReturnType<KnowledgeWorld['accept']>>['stored'][number] | undefined,
    entityId: string,
  ) => {
    if (!chunk) throw new Error('no chunk');
    return world.events.write(chunk, 'rules', {
      mentions: [{ ...mentionOf('Anne'), method: 'rules' }],
      results: [resultOf(entityId)],
      events: [],
    });
  };

  const entitiesOf = async (spaceId: number, names: readonly string[]): Promise<readonly string[]> =>
    (
      await exactResolver(world).resolve(
        names.map(mentionOf),
        { spaceId, artifactUid: world.ids.uuid(), revisionId: '', chunkId: null },
        'admin',
        signal,
      )
    ).map(({ entityId }) => entityId);

  const addPairAndMerge = async (spaceId: number, a: string, b: string) => {
    const [first, second] = [a, b].sort();
    await world.database.query(sql`
      insert into entity_pair (pair_id, space_id, entity_a, entity_b, confidence, reason, created_at)
      values (${world.ids.uuid()}, ${spaceId}, ${first}, ${second}, 0.5, 'alike', now())`);
    await world.database.query(sql`
      insert into entity_merge (merge_id, space_id, winner_id, loser_id, reason, decided_by, winner_aliases,
        settled_pairs, merged_at, undone_at)
      values (${world.ids.uuid()}, ${spaceId}, ${a}, ${b}, 'r', 'admin', '{}', '[]', now(), now())`);
  };

  const merge = (spaceId: number, winnerId: string, loserId: string) =>
    new MergeStore(world.database, world.ids).merge(
      spaceId,
      { winnerId, loserId, reason: 'the same', decidedBy: 'admin' },
      new Date(world.clock.now()),
    );
});

describe('a chunk that is read for the first time', () => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld('server');
  });
  afterAll(() => world.dispose());

  /** The same database, counting its queries. */
  function counting(database: Database) {
    const trips: string[] = [];
    const counted = new Proxy(database, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...given: readonly unknown[]) => {
          if (name === 'query' || name === 'transaction') trips.push(name);
          return Reflect.apply(value, target, given) as unknown;
        };
      },
    });
    return { counted, trips };
  }

  it('runs four queries, whatever the document contains, including characters that jsonb rejects', async () => {
    const space = await world.space();
    const { counted, trips } = counting(world.database);
    const { resolver } = entityWorld(world, { change: { entities: new EntityStore(counted) } });
    const events = new EventStore(counted, world);
    const names = ['Ada Lovelace', 'Grace Hopper', 'Acme GmbH', 'Ada Byron'];
    for (const text of [`${names.join(', ')} met.`, `${names.join(', ')} met again.`]) {
      const { artifactUid, revisionId, stored } = await world.accept(space, { text });
      const chunkId = stored[0]?.chunkId ?? 0;
      const place = { spaceId: space.spaceId, artifactUid, revisionId, chunkId };
      const mentions = names.map((name, index) => mentionOf(name, index));
      trips.length = 0;
      const results = await resolver.resolve(mentions, place, 'admin', signal);
      const broken = 'They \0met \ud83d';
      const event = {
        category: 'Collaboration',
        eventTime: null,
        narrative: broken,
        subjectRef: null,
        subject: broken,
        actors: [{ ref: 'm0', role: 'owner' }],
        evidence: [{ quote: broken, startChar: 0, endChar: 4 }],
        confidence: 0.5,
      } as const;
      await events.write(place, 'rules', { mentions, results, events: [event] });
      expect(trips.filter((trip) => trip === 'transaction')).toEqual([]);
      expect(trips.length).toBeLessThanOrEqual(5);
    }
    const [written] = await events.list({ spaceId: space.spaceId, limit: 1 });
    expect(written).toMatchObject({ narrative: 'They met \ufffd', evidence: [{ quote: 'They met \ufffd' }] });
    expect(written?.actors).toMatchObject([{ name: 'Ada Lovelace', role: 'owner' }]);
  });
});
