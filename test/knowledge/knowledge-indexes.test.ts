// The lexical index and the vector index, on both kinds of Postgres.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sql } from '../../src/platform/postgres/index.ts';
import { entityWorld } from '../support/entity-world.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';
import { knowledgeWorld } from '../support/knowledge-world.ts';
import { lexicalSuite } from './knowledge-lexical-suite.ts';
import { vectorsSuite } from './knowledge-vectors-suite.ts';

describe.each(['server', 'embedded'] as const)('on Postgres (%s)', (kind) => {
  let world: KnowledgeWorld;
  beforeAll(async () => {
    world = await knowledgeWorld(kind);
  });
  afterAll(() => world.dispose());

  describe('the lexical index', () => lexicalSuite(() => world));

  it('searches similar names only within the space', async () => {
    const at = entityWorld(world);
    const [own, others] = [await world.space(), await world.space()];
    await at.read(own, ['Marketing Manager Zed']);
    const [otherEntity = ''] = (await at.read(others, ['Jane Other'])).ids;
    await world.database.query(sql`
      insert into entity_alias (entity_id, space_id, alias, normalized_alias)
      select ${otherEntity}::uuid, ${others.spaceId}::integer, 'x', 'marketing manager ' || i from generate_series(1, 2000) i`);
    await world.database.transaction(async (transaction) => {
      const fetched = async () => {
        const { rows } = await transaction.query<{ count: number }>(
          sql`select pg_stat_get_xact_tuples_fetched('entity_alias'::regclass)::integer as count`,
        );
        return rows[0]?.count ?? 0;
      };
      const before = await fetched();
      const { rows } = await transaction.query(sql`
        select via from knowledge_find_entities(${own.spaceId}::integer, '{}', '{}', '{}', 20,
          array['marketing manager zeb'], 200, 0.45)`);
      expect(rows).toEqual([{ via: 'version' }, { via: 'trigram' }]);
      expect((await fetched()) - before).toBeLessThan(50);
    });
  });

  it('looks entities up by id, however many the space has, before the table is analyzed', async () => {
    const fresh = await knowledgeWorld(kind);
    onTestFinished(() => fresh.dispose());
    const space = await fresh.space();
    const { ids } = await entityWorld(fresh).read(space, ['Ann Abel', 'Bob Bell', 'Cid Cole', 'Dan Dole']);
    await fresh.database.query(sql`
      insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, created_at, updated_at)
      select gen_random_uuid(), ${space.spaceId}::integer, 'person', 'X', 'x ' || i, now(), now()
      from generate_series(1, 2000) i`);
    const { stored, artifactUid, revisionId } = await fresh.accept(space, { text: 'Ann' });
    await fresh.database.transaction(async (transaction) => {
      await transaction.script('discard plans');
      const fetched = async () => {
        const { rows } = await transaction.query<{ count: number }>(sql`
          select sum(pg_stat_get_xact_tuples_fetched(indexrelid))::integer as count
          from pg_index where indrelid = 'entity'::regclass`);
        return rows[0]?.count ?? 0;
      };
      const before = await fetched();
      const { rows } = await transaction.query(sql`
        select knowledge_put_first_reading(${space.spaceId}::integer, ${artifactUid}::uuid, ${revisionId}::uuid,
          ${stored[0]?.chunkId}::bigint, 'rules', now(), '[]', '[]', ${ids}::uuid[]) as is_written`);
      expect(rows).toEqual([{ is_written: true }]);
      expect((await fetched()) - before).toBeLessThan(50);
    });
  });

  it('writes no name and no mention for an entity of another space', async () => {
    const at = entityWorld(world);
    const [own, others] = [await world.space(), await world.space()];
    const [otherEntity] = (await at.read(others, ['Jane Other'])).ids;
    const { stored, artifactUid, revisionId } = await world.accept(own, { text: 'Jane' });
    const names = JSON.stringify([{ id: otherEntity, alias: 'X', normalized: 'x', keys: [] }]);
    await expect(
      world.database.query(sql`
        select knowledge_put_entities(${own.spaceId}::integer, ${artifactUid}::uuid, now(), '[]', ${names}::jsonb, '[]', 9)`),
    ).rejects.toThrow('of another space');
    const mentions = JSON.stringify([
      { id: world.ids.uuid(), entity: otherEntity, surface: 'X', method: 'rules', confidence: 1 },
    ]);
    await expect(
      world.database.query(sql`
        select knowledge_put_reading(${own.spaceId}::integer, ${artifactUid}::uuid, ${revisionId}::uuid,
          ${stored[0]?.chunkId}::bigint, 'rules', now(), false, ${mentions}::jsonb, '[]')`),
    ).rejects.toThrow('of another space');
  });

  describe('vectors', () => vectorsSuite(() => world));
});
