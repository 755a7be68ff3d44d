// Merges and splits on a real store: undone exactly, in any allowed order.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GraphSource } from '../../src/knowledge/graph/graph-source.ts';
import { PairStore } from '../../src/knowledge/entities/pair-store.ts';
import type { ReadEvent, Space } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import { entityWorld, eventOf, mentionOf } from '../support/entity-world.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

describe.each(['server', 'embedded'] as const)('merges on %s Postgres', (kind) => {
  let world: KnowledgeWorld;
  let at: ReturnType<typeof entityWorld>;
  beforeAll(async () => {
    world = await knowledgeWorld(kind);
    at = entityWorld(world);
  });
  afterAll(() => world.dispose());

  /** Everything that a merge may change. */
  async function rowsOf({ spaceId }: Space): Promise<unknown> {
    const { rows } = await world.database.query<{ rows: unknown }>(sql`
      select jsonb_build_object(
        'entities', (select jsonb_agg(to_jsonb(e) - 'version' order by entity_id) from entity e where space_id = ${spaceId}),
        'aliases', (select jsonb_agg(to_jsonb(a) order by entity_id, normalized_alias) from entity_alias a where space_id = ${spaceId}),
        'keys', (select jsonb_agg(to_jsonb(k) order by key, entity_id, normalized_alias) from entity_key k where space_id = ${spaceId}),
        'mentions', (select jsonb_agg(to_jsonb(m) order by mention_id) from entity_mention m where space_id = ${spaceId}),
        'actors', (select jsonb_agg(to_jsonb(a) order by event_id, entity_id, role) from event_actor a where space_id = ${spaceId}),
        'subjects', (select jsonb_agg(to_jsonb(s) order by event_id, entity_id) from event_subject s where space_id = ${spaceId}),
        'pairs', (select jsonb_agg(to_jsonb(p) order by pair_id) from entity_pair p where space_id = ${spaceId})) as rows`);
    return rows[0]?.rows;
  }

  const people = ['Alice Chen', 'Bob Smith', 'Carol Davis', 'Dan Evans', 'Emma Fox'];

  /** Five people who act together in three chunks, two of them with uncertain names. */
  async function populated(): Promise<{ space: Space; ids: readonly string[] }> {
    const space = await world.space();
    const { ids } = await at.read(space, people, [eventOf([0, 1, 2], 3), eventOf([1, 2, 3, 4], 0)]);
    await at.read(space, people.slice(0, 3), [eventOf([0, 1], 2)]);
    await at.read(space, ['A. Chen']);
    await at.read(space, ['Bob']);
    return { space, ids };
  }

  it('moves everything to the winner, keeps every name, and returns the winner under both ids', async () => {
    const { space, ids } = await populated();
    const [alice = '', bob = ''] = ids;
    const merge = await at.service.merge(space, alice, bob, 'the same', 'admin');
    const both = await at.service.get(space, bob);
    expect(both).toMatchObject({ entityId: alice, aliases: ['Bob Smith'], mentionCount: 4, eventCount: 3 });
    expect(both.merges).toMatchObject([
      { mergeId: merge.mergeId, winnerId: alice, loserId: bob, undoneAt: null },
    ]);
    for (const entityId of [alice, bob])
      expect(await world.events.list({ spaceId: space.spaceId, entityId, limit: 10 }), entityId).toHaveLength(
        3,
      );
    // Both acted in one event: it is listed once.
    const { rows } = await world.database.query(
      sql`select distinct event_id, role from event_actor where entity_id = ${alice}::uuid`,
    );
    expect(rows).toHaveLength(3);
    expect((await at.read(space, ['Bob Smith'])).ids).toEqual([alice]);
    expect(await at.service.list({ spaceId: space.spaceId, name: 'bob smi', limit: 10 })).toMatchObject([
      { entityId: alice },
    ]);
    expect(
      (await at.service.list({ spaceId: space.spaceId, limit: 100 })).map(({ entityId }) => entityId),
    ).not.toContain(bob);
  });

  it('rejects impossible merges and changes nothing', async () => {
    const { space, ids } = await populated();
    const [alice = '', bob = '', carol = ''] = ids;
    const otherSpace = await populated();
    const first = await at.service.merge(space, alice, bob, 'x', 'admin');
    const second = await at.service.merge(space, carol, alice, 'x', 'admin');
    const before = await rowsOf(space);
    const impossible = { code: 'KNOWLEDGE_MERGE_IMPOSSIBLE' };
    await expect(at.service.merge(space, carol, carol, 'x', 'admin')).rejects.toMatchObject(impossible);
    await expect(at.service.merge(space, carol, bob, 'x', 'admin')).rejects.toMatchObject(impossible);
    await expect(at.service.unmerge(space, first.mergeId)).rejects.toMatchObject(impossible);
    const missing = { code: 'NOT_FOUND' };
    await expect(at.service.merge(space, carol, otherSpace.ids[0] ?? '', 'x', 'admin')).rejects.toMatchObject(
      missing,
    );
    await expect(at.service.merge(space, carol, 'not-an-id', 'x', 'admin')).rejects.toMatchObject(missing);
    await expect(at.service.unmerge(otherSpace.space, second.mergeId)).rejects.toMatchObject(missing);
    await expect(at.service.get(otherSpace.space, carol)).rejects.toMatchObject(missing);
    expect(await rowsOf(space)).toEqual(before);
    await at.service.unmerge(space, second.mergeId);
    await expect(at.service.unmerge(space, second.mergeId)).rejects.toMatchObject(impossible);
  });

  it('undoes a merge exactly, whatever else was merged into the winner before and after', async () => {
    const { space, ids } = await populated();
    const [alice = '', bob = '', carol = '', dan = ''] = ids;
    const original = await rowsOf(space);
    const [one, two, three] = [
      await at.service.merge(space, alice, bob, 'x', 'admin'),
      await at.service.merge(space, alice, carol, 'x', 'admin'),
      await at.service.merge(space, alice, dan, 'x', 'admin'),
    ];
    await at.service.unmerge(space, two.mergeId);
    expect((await at.service.get(space, carol)).entityId).toBe(carol);
    expect((await at.service.get(space, bob)).entityId).toBe(alice);
    await at.service.unmerge(space, one.mergeId);
    await at.service.unmerge(space, three.mergeId);
    expect(await rowsOf(space)).toEqual(original);
  });

  it('restores the original rows after random merges and unmerges in any allowed order', async () => {
    const step = fc.record({ merge: fc.boolean(), a: fc.nat(6), b: fc.nat(6) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
        const { space } = await populated();
        const allEntities = (await at.service.list({ spaceId: space.spaceId, limit: 10 })).map(
          ({ entityId }) => entityId,
        );
        const original = await rowsOf(space);
        const standing: string[] = [];
        const undo = async (mergeId: string) => {
          const done = await at.service.unmerge(space, mergeId).catch(() => null);
          if (done) standing.splice(standing.indexOf(mergeId), 1);
        };
        for (const { merge, a, b } of steps) {
          const [winner = '', loser = ''] = [allEntities[a], allEntities[b]];
          if (!merge) await undo(standing[a % Math.max(1, standing.length)] ?? '');
          else {
            const done = await at.service.merge(space, winner, loser, 'x', 'admin').catch(() => null);
            if (done) standing.push(done.mergeId);
          }
        }
        while (standing.length > 0) for (const mergeId of standing.toSorted()) await undo(mergeId);
        expect(await rowsOf(space)).toEqual(original);
      }),
      { numRuns: kind === 'server' ? 12 : 3, seed: 6, endOnFailure: true },
    );
  });

  it('splits off mentions with their events and never proposes the pair again', async () => {
    const { space, ids } = await populated();
    const [alice = ''] = ids;
    const { mentions } = await at.service.get(space, alice);
    const [second, first] = mentions.map(({ mentionId }) => mentionId);
    const parted = await at.service.split(space, alice, [second ?? ''], 'Alice Wong');
    expect(parted).toMatchObject({ canonicalName: 'Alice Wong', type: 'person' });
    expect(await at.service.get(space, parted.entityId)).toMatchObject({
      mentionCount: 1,
      eventCount: 1,
      pairs: [{ state: 'different' }],
    });
    expect(await at.service.get(space, alice)).toMatchObject({ mentionCount: 1, eventCount: 2 });
    await expect(at.service.split(space, alice, [first ?? ''], 'Another')).rejects.toMatchObject({
      code: 'KNOWLEDGE_MERGE_IMPOSSIBLE',
    });
    await expect(at.service.split(space, alice, [second ?? ''], 'Another')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    await expect(at.service.split(space, alice, [], 'Another')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('splits events by the mention in or nearest to their quote, and merging reverses it', async () => {
    const space = await world.space();
    const { ids } = await at.read(
      space,
      [
        { name: 'Alice Chen', at: 0 },
        { name: 'Alice Chen', as: 'A. Chen', at: 100 },
        { name: 'Bob Smith', at: 50 },
      ],
      [
        eventOf([0, 2], 0, [0, 40]),
        eventOf([0, 2], 0, [90, 140]),
        eventOf([0], null, [115, 140]),
        eventOf([0], null, [0, 140]),
      ],
    );
    const [alice = '', , bob = ''] = ids;
    const before = await rowsOf(space);
    const quotesOf = async (entityId: string) =>
      (await world.events.list({ spaceId: space.spaceId, entityId, limit: 10 }))
        .map(({ evidence }) => evidence.map(({ startChar, endChar }) => `${startChar}-${endChar}`).join())
        .sort();
    const { mentions } = await at.service.get(space, alice);
    const short = mentions.find(({ surfaceForm }) => surfaceForm === 'A. Chen')?.mentionId ?? '';
    const { entityId: parted } = await at.service.split(space, alice, [short], 'Anne Chen');
    // The last quote contains both.
    expect(await quotesOf(parted)).toEqual(['0-140', '115-140', '90-140']);
    expect(await quotesOf(alice)).toEqual(['0-140', '0-40']);
    expect(await quotesOf(bob)).toEqual(['0-40', '90-140']);
    const subjects = (await at.service.get(space, parted)).eventCount;
    expect(subjects).toBe(3);
    // The name that only this mention had moved with it.
    expect((await at.service.get(space, alice)).aliases).toEqual([]);
    expect((await at.service.get(space, parted)).aliases).toEqual(['A. Chen']);
    const merge = await at.service.merge(space, alice, parted, 'not two after all', 'admin');
    expect(await quotesOf(alice)).toEqual(['0-140', '0-40', '115-140', '90-140']);
    expect(await at.service.get(space, alice)).toMatchObject({
      aliases: ['A. Chen', 'Anne Chen'],
      mentionCount: 2,
    });
    await at.service.unmerge(space, merge.mergeId);
    expect(await quotesOf(parted)).toEqual(['0-140', '115-140', '90-140']);
    expect(before).not.toEqual(await rowsOf(space));
  });

  it('returns a mention that was split off and merged back to the entity it was resolved to before', async () => {
    const space = await world.space();
    const { ids } = await at.read(
      space,
      [
        { name: 'Alice Chen', at: 0 },
        { name: 'Bob Smith', at: 50 },
        { name: 'Bob Smith', as: 'he', at: 100 },
      ],
      [eventOf([1], null, [100, 120])],
    );
    const [alice = '', bob = ''] = ids;
    const before = await rowsOf(space);
    const older = await at.service.merge(space, alice, bob, 'a mistake', 'admin');
    const { mentions } = await at.service.get(space, alice);
    const pronoun = mentions.find(({ surfaceForm }) => surfaceForm === 'he')?.mentionId ?? '';
    const { entityId: parted } = await at.service.split(space, alice, [pronoun], 'Carl Roth');
    const back = await at.service.merge(space, alice, parted, 'not a third person', 'admin');
    // Undoing the merge that reversed the split splits it off again.
    await at.service.unmerge(space, back.mergeId);
    expect(await at.service.get(space, parted)).toMatchObject({ mentionCount: 1, eventCount: 1 });
    await at.service.merge(space, alice, parted, 'not a third person', 'admin');
    const undone = await at.service.unmerge(space, older.mergeId);
    expect(undone.later).toEqual({ moved: 0, unclear: [] });
    expect(await at.service.get(space, bob)).toMatchObject({ mentionCount: 2, eventCount: 1 });
    expect(await at.service.get(space, alice)).toMatchObject({ mentionCount: 1, eventCount: 0 });
    interface Rows {
      readonly mentions: readonly { readonly mention_id: string }[];
      readonly actors: unknown;
    }
    const { mentions: restored, actors } = (await rowsOf(space)) as Rows;
    const { mentions: original, actors: originalActors } = before as Rows;
    // What a person has split off is not moved automatically any more.
    expect(restored).toEqual(
      original.map((row) => (row.mention_id === pronoun ? { ...row, by_name: null } : row)),
    );
    expect(actors).toEqual(originalActors);
  });

  it("returns mentions written since under the loser's name, with events and names, and lists unclear ones", async () => {
    const space = await world.space();
    const { ids } = await at.read(space, [
      { name: 'Alice Chen', organization: 'Acme' },
      { name: 'Robert Smith', organization: 'Acme' },
      { name: 'Rob', as: 'Rob' },
    ]);
    const [alice = '', bob = ''] = ids;
    const { place } = await at.read(space, ['Robert Smith'], [eventOf([0])]);
    const merge = await at.service.merge(space, alice, bob, 'a mistake', 'admin');
    // The same chunk is read again, and a new one: both refer to the loser, one by a new name.
    const again = [mentionOf({ name: 'Robert Smith', at: 0 })];
    const results = await at.resolver.resolve(again, place, 'admin', at.signal);
    await world.events.write({ ...place, chunkId: place.chunkId ?? 0 }, 'rules', {
      mentions: again,
      results,
      events: [eventOf([0])],
    });
    const { ids: later } = await at.read(
      space,
      [
        { name: 'Robert Smith', as: 'Bobby Smith', at: 0 },
        { name: 'Alice Chen', at: 50 },
        { name: 'Robert Smith', as: 'she', at: 90 },
      ],
      [eventOf([0], null, [0, 20]), eventOf([1], null, [50, 70])],
    );
    expect(new Set([...later, results[0]?.entityId])).toEqual(new Set([alice]));
    expect(await at.service.get(space, alice)).toMatchObject({ mentionCount: 7, eventCount: 3 });
    const undone = await at.service.unmerge(space, merge.mergeId);
    expect(undone.later).toMatchObject({ moved: 2, unclear: [{ surfaceForm: 'she' }] });
    expect(await at.service.get(space, bob)).toMatchObject({
      entityId: bob,
      mentionCount: 4,
      eventCount: 2,
      aliases: ['Bobby Smith', 'Rob'],
    });
    expect(await at.service.get(space, alice)).toMatchObject({
      mentionCount: 3,
      eventCount: 1,
      aliases: [],
    });
    expect((await at.read(space, [{ name: 'Robert Smith', organization: 'Acme' }])).ids).toEqual([bob]);
  });

  it('lists a later mention as unclear when both entities have its name', async () => {
    const space = await world.space();
    const [acme = ''] = (await at.read(space, [{ name: 'Alice Chen', organization: 'Acme' }])).ids;
    const [other = ''] = (await at.read(space, [{ name: 'Alice Chen', organization: 'OtherCorp' }])).ids;
    const merge = await at.service.merge(space, acme, other, 'a mistake', 'admin');
    const { ids } = await at.read(space, ['Alice Chen']);
    expect(ids).toEqual([acme]);
    const undone = await at.service.unmerge(space, merge.mergeId);
    expect(undone.later).toMatchObject({ moved: 0, unclear: [{ surfaceForm: 'Alice Chen' }] });
    expect((await at.service.get(space, acme)).mentionCount).toBe(2);
    const [unclear] = undone.later.unclear;
    await at.service.split(space, acme, [unclear?.mentionId ?? ''], 'Alice Chen');
    expect((await at.service.get(space, acme)).mentionCount).toBe(1);
  });

  it('keeps the flags of unnamed entities and of other review reasons when pairs change', async () => {
    const space = await world.space();
    const [alice = '', unnamed = '', bob = ''] = (await at.read(space, ['Alice Chen', '\u200b', 'Bob Smith']))
      .ids;
    await at.entities.flag(space.spaceId, bob, 'embedding-missing');
    for (const loser of [unnamed, bob]) {
      const before = await at.entities.get(space.spaceId, loser);
      expect(before).toMatchObject({ needsReview: true });
      const { mergeId } = await at.service.merge(space, alice, loser, 'a test', 'admin');
      await at.service.unmerge(space, mergeId);
      expect(await at.entities.get(space.spaceId, loser)).toEqual(before);
    }
  });

  it('counts and lists mentions of latest revisions only', async () => {
    const space = await world.space();
    const read = async (text: string, requests: readonly string[], events: readonly ReadEvent[]) => {
      const { artifactUid, revisionId, stored } = await world.accept(space, { text, sourceId: 'minutes' });
      const chunkId = stored[0]?.chunkId ?? 0;
      const place = { spaceId: space.spaceId, artifactUid, revisionId, chunkId };
      const mentions = requests.map((request, index) => mentionOf(request, index));
      const results = await at.resolver.resolve(mentions, place, 'admin', at.signal);
      await world.events.write(place, 'rules', { mentions, results, events });
      return results.map(({ entityId }) => entityId);
    };
    const [alice = '', bob = ''] = await read('One.', ['Alice Chen', 'Bob Smith'], [eventOf([0], 1)]);
    await read('Two.', ['Alice Chen', 'Alice Chen'], [eventOf([0]), eventOf([1])]);
    const counted = await at.service.list({ spaceId: space.spaceId, limit: 10 });
    expect(
      new Map(
        counted.map(({ entityId, mentionCount, eventCount }) => [entityId, [mentionCount, eventCount]]),
      ),
    ).toEqual(
      new Map([
        [alice, [2, 2]],
        [bob, [0, 0]],
      ]),
    );
    const shown = await at.service.get(space, alice);
    expect(shown).toMatchObject({ mentionCount: 2, eventCount: 2 });
    expect(shown.mentions).toHaveLength(2);
    await expect(
      at.service.split(
        space,
        alice,
        shown.mentions.map(({ mentionId }) => mentionId),
        'Alice Wong',
      ),
    ).rejects.toMatchObject({ code: 'KNOWLEDGE_MERGE_IMPOSSIBLE' });
  });

  it('does not list a pair whose sides merges have contradicted, and lists it again after undoing (T5)', async () => {
    const space = await world.space();
    const [alice = ''] = (await at.read(space, [{ name: 'Alice Chen', organization: 'Acme' }])).ids;
    const [andrew = ''] = (await at.read(space, [{ name: 'Andrew Chen', organization: 'Zenith' }])).ids;
    const [short = ''] = (await at.read(space, ['A. Chen'])).ids;
    const source = new GraphSource(world.database);
    const two = (...ids: string[]) => ids.sort().join(' ');
    const edges = async (...entityIds: string[]) =>
      (await source.entityBatch(space.spaceId, entityIds)).possiblySame
        .map(({ entityA, entityB }) => two(entityA, entityB))
        .sort();
    const questions = async () =>
      (await at.service.review(space, 10)).map(({ a, b }) => two(a.entityId, b.entityId)).sort();
    const flagged = async () =>
      (await at.service.list({ spaceId: space.spaceId, needsReview: true, limit: 10 })).map(
        ({ entityId }) => entityId,
      );
    const both = [two(alice, short), two(andrew, short)].sort();
    expect(await questions()).toEqual(both);
    expect(await edges(short)).toEqual(both);
    expect(await flagged()).toEqual([short]);
    const original = await rowsOf(space);

    // The short name turns out to be Alice, who is not Andrew.
    const merge = await at.service.merge(space, alice, short, 'it is her', 'admin');
    expect(await questions()).toEqual([]);
    expect(await edges(alice, andrew)).toEqual([]);
    expect(await flagged()).toEqual([]);
    expect((await at.service.get(space, andrew)).pairs).toEqual([]);
    await at.service.unmerge(space, merge.mergeId);
    expect(await rowsOf(space)).toEqual(original);
    expect(await questions()).toEqual(both);

    // Both are Alice: one pair is left of two, and nothing is decided twice.
    const twice = await at.service.merge(space, alice, andrew, 'one person', 'admin');
    expect(await questions()).toEqual([two(alice, short)]);
    expect(await edges(short)).toEqual([two(alice, short)]);
    const [only] = await at.service.review(space, 10);
    await at.service.decide(space, only?.pairId ?? '', 'later', 'admin');
    expect(await at.service.review(space, 10)).toMatchObject([{ state: 'later' }]);
    await at.service.decide(space, only?.pairId ?? '', 'different', 'admin');
    expect(await questions()).toEqual([]);
    expect(await edges(short, alice)).toEqual([]);
    expect(await flagged()).toEqual([]);
    await at.service.unmerge(space, twice.mergeId);
    expect(await questions()).toHaveLength(1);
  });

  it('lists two entities once after a merge, with the similarity of what they are now', async () => {
    const space = await world.space();
    const [senior = ''] = (await at.read(space, ['Robert Chen'])).ids;
    const [junior = ''] = (await at.read(space, ['Robert Chen Jr.'])).ids;
    const [short = ''] = (await at.read(space, ['R. Chen'])).ids;
    const stored = {
      confidence: 0.99,
      isByPart: false,
      reason: 'alike',
      evidence: { points: 9 },
      state: 'open',
    } as const;
    await new PairStore(world.database).insert(
      space.spaceId,
      [{ ...stored, pairId: world.ids.uuid(), entityId: short, otherId: junior, decidedBy: null }],
      new Date(world.clock.now()),
    );
    await at.service.merge(space, senior, short, 'it is him', 'admin');
    const open = await at.service.review(space, 10);
    expect(open.map(({ a, b }) => [a.entityId, b.entityId].sort())).toEqual([[senior, junior].sort()]);
    expect(open[0]?.evidence).toMatchObject({
      reasons: expect.arrayContaining(['only one of them has a suffix (Jr., Sr., II)']) as string[],
    });
  });

  it('reviews open pairs: same merges, different is never proposed again, later comes last', async () => {
    const { space, ids } = await populated();
    const [alice = '', bob = ''] = ids;
    const open = await at.service.review(space, 10);
    expect(open).toHaveLength(2);
    const pairOf = (id: string) => open.find(({ a, b }) => [a.entityId, b.entityId].includes(id));
    const [withAlice, withBob] = [pairOf(alice), pairOf(bob)];
    expect(withAlice).toMatchObject({
      reason: expect.any(String) as string,
      evidence: { reasons: expect.any(Array) as [] },
    });
    expect(await at.service.list({ spaceId: space.spaceId, needsReview: true, limit: 10 })).toHaveLength(2);
    await at.service.decide(space, withAlice?.pairId ?? '', 'later', 'admin');
    expect((await at.service.review(space, 10)).at(-1)?.pairId).toBe(withAlice?.pairId);
    expect(await at.service.decide(space, withAlice?.pairId ?? '', 'same', 'admin')).toMatchObject({
      state: 'same',
      decidedBy: 'admin',
    });
    expect((await at.service.get(space, alice)).aliases).toEqual(['A. Chen']);
    expect(await at.service.decide(space, withBob?.pairId ?? '', 'different', 'org_1')).toMatchObject({
      state: 'different',
      decidedBy: 'org_1',
    });
    expect(await at.service.review(space, 10)).toEqual([]);
    expect(await at.service.list({ spaceId: space.spaceId, needsReview: true, limit: 10 })).toEqual([]);
    const [merge] = (await at.service.get(space, alice)).merges;
    await at.service.unmerge(space, merge?.mergeId ?? '');
    expect(await at.service.review(space, 10)).toMatchObject([{ pairId: withAlice?.pairId, state: 'later' }]);
    await expect(at.service.decide(space, 'nothing', 'same', 'admin')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('rejects "same" for entities merged with others since the caller looked', async () => {
    const space = await world.space();
    const [alice = ''] = (await at.read(space, [{ name: 'Alice Chen', organization: 'Acme' }])).ids;
    const [andrew = ''] = (await at.read(space, [{ name: 'Andrew Chen', organization: 'Zenith' }])).ids;
    await at.read(space, ['A. Chen']);
    const seen = await at.service.review(space, 10);
    const pairOf = (id: string) =>
      seen.find(({ a, b }) => [a.entityId, b.entityId].includes(id))?.pairId ?? '';
    await world.clock.advance(1_000);
    await at.service.decide(space, pairOf(alice), 'same', 'admin');
    const again = at.service.decide(space, pairOf(andrew), 'same', 'admin');
    await expect(again).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/merged with another entity since.*headworks entities merge/) as string,
    });
    const now = new Date(world.clock.now());
    expect(await at.service.decide(space, pairOf(andrew), 'same', 'admin', now)).toMatchObject({
      state: 'same',
    });
    expect(await at.service.review(space, 10)).toEqual([]);
  });

  it('rejects "same" and "later" for a pair decided as different since the caller looked', async () => {
    const { space, ids } = await populated();
    const [alice = ''] = ids;
    const seen = await at.service.review(space, 10);
    const pairId = seen.find(({ a, b }) => [a.entityId, b.entityId].includes(alice))?.pairId ?? '';
    const readAt = new Date(world.clock.now());
    await world.clock.advance(1_000);
    const { decidedAt } = await at.service.decide(space, pairId, 'different', 'org_1', readAt);
    const refusal = {
      code: 'CONFLICT',
      message: expect.stringMatching(
        /different by org_1 at 20\d\d-.*--verdict later\..*headworks entities merge/,
      ) as string,
    };
    for (const verdict of ['same', 'later'] as const)
      await expect(at.service.decide(space, pairId, verdict, 'admin', readAt)).rejects.toMatchObject(refusal);
    await expect(at.service.decide(space, pairId, 'same', 'admin')).rejects.toMatchObject(refusal);
    // They agree.
    await at.service.decide(space, pairId, 'different', 'org_1', readAt);
    // The decision is withdrawn; then the pair is open again for everyone.
    expect(await at.service.decide(space, pairId, 'later', 'org_1', decidedAt ?? readAt)).toMatchObject({
      state: 'later',
    });
    expect(await at.service.decide(space, pairId, 'same', 'admin', readAt)).toMatchObject({ state: 'same' });
  });

  it('assigns mentions written during a merge to the winner', async () => {
    const { space, ids } = await populated();
    const [alice = '', bob = ''] = ids;
    await Promise.all(
      [
        at.read(space, ['Bob Smith', 'Carol Davis']),
        at.service.merge(space, alice, bob, 'x', 'admin'),
        at.read(space, ['Bob Smith', 'Dan Evans']),
      ].map((work) => work.catch((error: unknown) => expect(error).toMatchObject({ code: 'CONFLICT' }))),
    );
    const { rows } = await world.database.query(
      sql`select from entity_mention where entity_id = ${bob}::uuid`,
    );
    expect(rows).toEqual([]);
  });

  it('deletes with an artifact the names that only it used, also of merged entities', async () => {
    const space = await world.space();
    const { ids } = await at.read(space, ['Alice Chen', 'Robert Smith']);
    const [alice = '', bob = ''] = ids;
    const { place } = await at.read(space, [{ name: 'Robert Smith', as: 'Bob\0 Smith' }]);
    await at.service.merge(space, alice, bob, 'x', 'admin');
    expect((await at.service.get(space, alice)).aliases).toEqual(['Bob Smith', 'Robert Smith']);
    await world.artifacts.remove(space.spaceId, place.artifactUid);
    expect((await at.service.get(space, alice)).aliases).toEqual(['Robert Smith']);
    const { rows } = await world.database.query(
      sql`select from entity_key where space_id = ${space.spaceId} and normalized_alias = 'bob smith'`,
    );
    expect(rows).toEqual([]);
  });
});
