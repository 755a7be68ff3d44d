// What is known by its name only, when the name belongs to several: no silent join, and nothing undone that a person decided.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/core/index.ts';
import type { Space } from '../../src/knowledge/index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { MentionInput } from '../support/entity-world.ts';
import { entityWorld, eventOf, mentionOf, ScriptedModel } from '../support/entity-world.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';

const nora = 'Nora Vance';
const acme = { name: nora, organization: 'Acme' };
const globex = { name: nora, organization: 'Globex' };

describe.each(['server', 'embedded'] as const)('mentions by a name only on %s Postgres', (kind) => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld(kind);
  });
  afterAll(() => world.dispose());

  /** Reads a document with all that follows it. Returns the mentions' entities as they are at that time. */
  async function ingest(space: Space, ...mentions: readonly MentionInput[]): Promise<string[]> {
    const at = entityWorld(world);
    const { place, ids } = await at.read(space, mentions, [eventOf([0])]);
    await at.repairs.reconcile(place, at.signal);
    return ids;
  }
  const peopleOf = async ({ spaceId }: Space) => {
    const people = await entityWorld(world).service.list({ spaceId, limit: 100 });
    return people
      .map(({ organization, mentionCount, eventCount }) => [organization, mentionCount, eventCount] as const)
      .sort(([a], [b]) => (a ?? '').localeCompare(b ?? ''));
  };

  it('leave the entity that they joined, with their events, when a namesake appears', async () => {
    const space = await world.space();
    await ingest(space, nora);
    const [first = ''] = await ingest(space, acme);
    expect(await peopleOf(space)).toEqual([['Acme', 2, 2]]);
    const [second = ''] = await ingest(space, globex);
    expect(await peopleOf(space)).toEqual([
      [null, 1, 1],
      ['Acme', 1, 1],
      ['Globex', 1, 1],
    ]);
    const { service } = entityWorld(world);
    const pairs = await service.review(space, 10);
    const [bare] = (await service.list({ spaceId: space.spaceId, needsReview: true, limit: 10 })).map(
      ({ entityId }) => entityId,
    );
    expect(pairs.map(({ a, b }) => [a.entityId, b.entityId].sort())).toEqual(
      expect.arrayContaining([first, second].map((id) => [id, bare ?? ''].sort())),
    );
    expect(pairs).toHaveLength(2);
    // Later ones are that entity, too, also when further documents mention the others.
    await ingest(space, acme, 'Olga Brandt');
    expect(await ingest(space, nora)).toEqual([bare]);
    expect(await service.review(space, 10)).toHaveLength(2);
  });

  it('leave an entity without a mention, which is deleted when no document can be about to mention it', async () => {
    const space = await world.space();
    await ingest(space, nora);
    const at = entityWorld(world);
    const { place, ids } = await at.read(space, [acme]);
    await at.repairs.reconcile(place, at.signal);
    await world.artifacts.remove(space.spaceId, place.artifactUid);
    await ingest(space, globex);
    expect(await at.entities.get(space.spaceId, ids[0] ?? '')).toMatchObject({ organization: 'Acme' });
    await ingest(space, 'Olga Brandt');
    expect(await peopleOf(space)).toContainEqual(['Acme', 0, 0]);
    await world.clock.advance(3_600_001);
    await ingest(space, 'Olga Brandt');
    expect(await at.entities.get(space.spaceId, ids[0] ?? '')).toBeNull();
    const [pair, ...others] = await at.service.review(space, 10);
    expect([pair?.a.organization, pair?.b.organization]).toEqual(expect.arrayContaining([null, 'Globex']));
    expect(others).toEqual([]);
  });

  it('take along the parts of the name in their document', async () => {
    const space = await world.space();
    for (const document of [[nora, 'Nora'], [acme], [globex]]) await ingest(space, ...document);
    expect(await peopleOf(space)).toEqual([
      [null, 2, 1],
      ['Acme', 1, 1],
      ['Globex', 1, 1],
    ]);
  });

  it('are mentions with a form of address, too, which then no longer describes the entity', async () => {
    const space = await world.space();
    for (const document of [[acme], [`Mr. ${nora}`, 'Mr. Vance'], [globex]]) await ingest(space, ...document);
    expect(await peopleOf(space)).toEqual([
      [null, 2, 1],
      ['Acme', 1, 1],
      ['Globex', 1, 1],
    ]);
    // Neither of the two has been called Mr.; their own form of address stays.
    const [hers = ''] = await ingest(space, { ...acme, name: `Mrs. ${nora}` });
    expect(await entityWorld(world).entities.get(space.spaceId, hers)).toMatchObject({
      organization: 'Acme',
      contextClues: ['honorific: Mrs.'],
    });
    expect(await peopleOf(space)).toEqual([
      [null, 2, 1],
      ['Acme', 2, 2],
      ['Globex', 1, 1],
    ]);
  });

  it('belong to the one that their document names, whichever is written first', async () => {
    const space = await world.space();
    // The longer form of the name is the one without a clue.
    const document = ['Vance, Nora', { ...globex, role: 'Director' }, 'Nora'];
    for (const mentions of [[acme], [{ ...globex }], document]) await ingest(space, ...mentions);
    expect(await peopleOf(space)).toEqual([
      ['Acme', 1, 1],
      ['Globex', 4, 2],
    ]);
  });

  it('belong to the one that their document names, in whatever position', async () => {
    for (const documents of [
      [[nora, globex], [acme], [nora]],
      [[nora], [acme], [nora, globex]],
      [[acme], [nora], [globex, nora]],
    ]) {
      const space = await world.space();
      for (const document of documents) await ingest(space, ...document);
      expect(await peopleOf(space)).toEqual([
        [null, 1, 1],
        ['Acme', 1, 1],
        ['Globex', 2, 1],
      ]);
    }
  });

  it('are separated by the next document when a process ended before it did', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    for (const mention of [nora, acme, globex]) await at.read(space, [mention]);
    expect(await peopleOf(space)).toHaveLength(2);
    await ingest(space, 'Olga Brandt');
    expect(await peopleOf(space)).toHaveLength(4);
  });

  it('do not join an entity for which a namesake was found before they were written', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    await ingest(space, acme);
    const { place } = await at.read(space, []);
    const mentions = [mentionOf(nora)];
    const results = await at.resolver.resolve(mentions, place, 'admin', at.signal);
    await ingest(space, globex);
    await world.events.write(place, 'rules', { mentions, results, events: [] });
    await at.repairs.reconcile(place, at.signal);
    expect(await peopleOf(space)).toEqual([
      [null, 1, 0],
      ['Acme', 1, 1],
      ['Globex', 1, 1],
    ]);
  });

  it('leave an entity whose other mentions are not written yet', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    await ingest(space, nora);
    const { place } = await at.read(space, []);
    const mentions = [mentionOf(acme)];
    const results = await at.resolver.resolve(mentions, place, 'admin', at.signal);
    await ingest(space, globex);
    await world.events.write(place, 'rules', { mentions, results, events: [] });
    await at.repairs.reconcile(place, at.signal);
    expect(await peopleOf(space)).toEqual([
      [null, 1, 1],
      ['Acme', 1, 0],
      ['Globex', 1, 1],
    ]);
  });

  it('stay where they are when they were written before their names were kept', async () => {
    const space = await world.space();
    await ingest(space, nora);
    await world.database.query(
      sql`update entity_mention set by_name = null where space_id = ${space.spaceId}`,
    );
    await ingest(space, acme);
    await ingest(space, globex);
    expect(await peopleOf(space)).toEqual([
      ['Acme', 2, 2],
      ['Globex', 1, 1],
    ]);
  });

  it('stay merged when a person has merged them', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    const [first = ''] = await ingest(space, acme);
    await ingest(space, globex);
    const [bare = ''] = await ingest(space, nora);
    const { mergeId } = await at.service.merge(space, first, bare, 'They are.', 'admin');
    await ingest(space, { ...acme, name: 'Vance, Nora' });
    await ingest(space, { name: nora, organization: 'Initech' });
    expect(await peopleOf(space)).toEqual([
      ['Acme', 3, 3],
      ['Globex', 1, 1],
      ['Initech', 1, 1],
    ]);
    await at.service.unmerge(space, mergeId);
    expect((await at.service.get(space, bare)).mentionCount).toBe(1);
    expect(await at.service.review(space, 10)).toHaveLength(2);
  });

  it('stay merged when a person has merged another one into their entity', async () => {
    const space = await world.space();
    const { service } = entityWorld(world);
    await ingest(space, acme);
    await ingest(space, globex);
    const [bare = ''] = await ingest(space, nora);
    const [initech = ''] = await ingest(space, { name: nora, organization: 'Initech' });
    const pairs = await service.review(space, 10);
    const pair = pairs.find(({ a, b }) => [a, b].some(({ entityId }) => entityId === initech));
    await service.decide(space, pair?.pairId ?? '', 'same', 'admin');
    expect((await service.get(space, bare)).mentionCount).toBe(2);
    await ingest(space, { name: nora, organization: 'Umbrella' });
    expect((await service.get(space, bare)).mentionCount).toBe(2);
    // A company contradicts the others now.
    expect(await service.review(space, 10)).toEqual([]);
  });

  it('stay split off when a person has split them off', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    const [first = ''] = await ingest(space, acme, nora);
    const { rows } = await world.database.query<{ id: string }>(sql`
      select mention_id as id from entity_mention where entity_id = ${first}::uuid and by_name is not null`);
    const split = await at.service.split(space, first, [rows[0]?.id ?? ''], nora);
    // Its document names the one of Acme, from whom it was split off.
    const [other = ''] = await ingest(space, globex);
    await at.service.merge(space, split.entityId, other, 'They are.', 'admin');
    await ingest(space, { name: nora, organization: 'Initech' });
    expect((await at.service.get(space, first)).mentionCount).toBe(1);
    expect((await at.service.get(space, split.entityId)).mentionCount).toBe(2);
  });

  it('stay where a model has confirmed them', async () => {
    const space = await world.space();
    await ingest(space, acme);
    await ingest(space, globex);
    const reply = { decision: 'same', candidate: 1, canonical_name: '', reason: 'It is.' };
    const at = entityWorld(world, { model: new ScriptedModel(JSON.stringify(reply)) });
    const { place, ids } = await at.read(space, [nora]);
    await at.repairs.reconcile(place, at.signal);
    expect((await at.service.get(space, ids[0] ?? '')).mentionCount).toBe(2);
  });

  it('leave it again when a namesake returns whose document was deleted', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    await ingest(space, acme);
    const { place } = await at.read(space, [globex]);
    await at.repairs.reconcile(place, at.signal);
    await world.artifacts.remove(space.spaceId, place.artifactUid);
    await ingest(space, nora);
    expect(await peopleOf(space)).toEqual([['Acme', 2, 2]]);
    await ingest(space, globex);
    expect(await peopleOf(space)).toEqual([
      [null, 1, 1],
      ['Acme', 1, 1],
      ['Globex', 1, 1],
    ]);
  });

  it('wait for no review when the documents of all others are deleted', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    const others = [await at.read(space, [acme]), await at.read(space, [globex])];
    await ingest(space, nora);
    expect(await at.service.review(space, 10)).toHaveLength(2);
    for (const { place } of others) await world.artifacts.remove(space.spaceId, place.artifactUid);
    expect(await at.service.review(space, 10)).toEqual([]);
    expect(await at.service.list({ spaceId: space.spaceId, needsReview: true, limit: 10 })).toEqual([]);
  });

  it('are all separated after one document that has many', async () => {
    const space = await world.space();
    const random = seededRandom(7);
    const letter = (letters: string) => letters[Math.floor(random.next() * letters.length)] ?? '';
    const word = () => Array.from({ length: 4 }, () => letter('bdfgklmnprstvz') + letter('aeiou')).join('');
    const names = Array.from({ length: 205 }, () => `${word()} ${word()}`);
    const namesAt = (organization: string) => names.map((name) => ({ name, organization }));
    for (const document of [names, namesAt('Acme'), namesAt('Globex')]) await ingest(space, ...document);
    const { rows } = await world.database.query(sql`
      select organization, count(distinct entity_id)::integer as entities, count(*)::integer as mentions
      from entity join entity_mention using (entity_id) where entity.space_id = ${space.spaceId}
      group by organization order by organization nulls first`);
    expect(rows).toEqual(
      [null, 'Acme', 'Globex'].map((organization) => ({ organization, entities: 205, mentions: 205 })),
    );
  });

  it('leave no empty entity when a later chunk of their document names one', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    await ingest(space, acme);
    await ingest(space, globex);
    const { place } = await at.read(space, [{ name: nora, organization: 'Initech' }]);
    const mentions = [mentionOf(nora)];
    const whole = { ...place, chunkId: null };
    const results = await at.resolver.resolve(mentions, whole, 'admin', at.signal);
    await world.events.write(whole, 'structured', { mentions, results, events: [] });
    // As if the chunk with the name had been read first.
    const [bare = ''] = await ingest(space, nora);
    await world.database.query(sql`
      update entity_mention set entity_id = ${bare}::uuid, resolved_id = ${bare}::uuid
      where revision_id = ${place.revisionId}::uuid and by_name is not null`);
    await world.database.query(
      sql`delete from entity_mention where entity_id = ${bare}::uuid and revision_id <> ${place.revisionId}::uuid`,
    );
    await at.repairs.reconcile(place, at.signal);
    expect(await peopleOf(space)).toEqual([
      ['Acme', 1, 1],
      ['Globex', 1, 1],
      ['Initech', 2, 0],
    ]);
  });

  it('are not joined by a mention with a clue that none of the others has', async () => {
    const space = await world.space();
    for (const mention of [acme, globex, nora]) await ingest(space, mention);
    const privately = { name: nora, email: 'nv1975@gmail.com' };
    const [first = ''] = await ingest(space, privately);
    expect(await ingest(space, privately)).toEqual([first]);
    expect(await peopleOf(space)).toHaveLength(4);
  });

  it('leave behind names that distinguish one of those that their document names', async () => {
    const space = await world.space();
    const at = entityWorld(world);
    const company = (name: string) => ({ name, type: 'organization' as const });
    const { place } = await at.read(space, [company('Zorvexa AG'), company('Zorvexa')]);
    const whole = { ...place, chunkId: null };
    const mentions = [mentionOf(company('Zorvexa GmbH'))];
    const results = await at.resolver.resolve(mentions, whole, 'admin', at.signal);
    await world.events.write(whole, 'structured', { mentions, results, events: [] });
    await at.repairs.reconcile(place, at.signal);
    const companies = await at.service.list({ spaceId: space.spaceId, limit: 10 });
    expect(
      companies.map(({ canonicalName, mentionCount }) => `${canonicalName} ${mentionCount}`).sort(),
    ).toEqual(['Zorvexa 1', 'Zorvexa AG 1', 'Zorvexa GmbH 1']);
  });

  it('leave a company the name that distinguishes it', async () => {
    const space = await world.space();
    for (const name of ['Zorvexa', 'Zorvexa AG', 'Zorvexa GmbH'])
      await ingest(space, { name, type: 'organization' });
    const companies = await entityWorld(world).service.list({ spaceId: space.spaceId, limit: 10 });
    expect(
      companies.map(({ canonicalName, mentionCount }) => `${canonicalName} ${mentionCount}`).sort(),
    ).toEqual(['Zorvexa 1', 'Zorvexa AG 1', 'Zorvexa GmbH 1']);
  });
});
