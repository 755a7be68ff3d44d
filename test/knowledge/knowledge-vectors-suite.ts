// Vectors on real stores: stored, compared, counted; one index per model; spaces and models are isolated.
import { beforeAll, expect, it } from 'vitest';
import type { Space } from '../../src/knowledge/index.ts';
import { VectorIndex } from '../../src/knowledge/vectors/vector-index.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';

const { signal } = new AbortController();

/** A unit vector that turns with `turn` in the plane of the first two dimensions. */
function turned(turn: number, dimensions = 4): Float32Array {
  const vector = new Float32Array(dimensions);
  vector[0] = Math.cos(turn);
  vector[1] = Math.sin(turn);
  return vector;
}

/** Runs on a world that the caller opens and closes. */
export function vectorsSuite(open: () => KnowledgeWorld): void {
  let world: KnowledgeWorld;
  let vectors: VectorIndex;
  beforeAll(() => {
    world = open();
    const failed = (_: string, error: unknown): never => {
      throw error;
    };
    vectors = new VectorIndex(world.database, failed, 100);
  });

  /** A space with one artifact of this many chunks. */
  async function filled(count: number): Promise<{ readonly space: Space; readonly ids: readonly number[] }> {
    const space = await world.space();
    const pieces = Array.from({ length: count }, (_, index) => `piece ${index}.`);
    const { stored } = await world.accept(space, { text: pieces.join(' ') }, pieces);
    return { space, ids: stored.map(({ chunkId }) => chunkId) };
  }

  const rows = (ids: readonly number[], dimensions?: number) =>
    ids.map((chunkId, index) => ({ chunkId, vector: turned(index / ids.length, dimensions) }));

  it('returns the cosine of chunks that have a vector of the model', async () => {
    const { space, ids } = await filled(3);
    await vectors.put(space.spaceId, 'm', rows(ids.slice(0, 2)));
    const found = await vectors.cosines(space.spaceId, 'm', turned(0), ids, signal);
    expect([...found.keys()].toSorted((a, b) => a - b)).toEqual(ids.slice(0, 2));
    expect(found.get(ids[0] ?? 0)).toBeCloseTo(1, 5);
    expect(found.get(ids[1] ?? 0)).toBeCloseTo(Math.cos(1 / 2), 5);
    expect(await vectors.cosines(space.spaceId, 'other', turned(0), ids, signal)).toEqual(new Map());
  });

  it('isolates spaces, also when a chunk of another space is requested', async () => {
    const mine = await filled(1);
    const other = await filled(1);
    await vectors.put(mine.space.spaceId, 'm', rows(mine.ids));
    await vectors.put(other.space.spaceId, 'm', rows(other.ids));
    expect(await vectors.cosines(mine.space.spaceId, 'm', turned(0), other.ids, signal)).toEqual(new Map());
    const near = await vectors.nearest(mine.space.spaceId, 'm', turned(0), 10, {}, signal);
    expect(near.map(({ chunkId }) => chunkId)).toEqual(mine.ids);
    await vectors.put(mine.space.spaceId, 'm', rows(other.ids)); // of another space: nothing is written
    expect(await vectors.cosines(mine.space.spaceId, 'm', turned(0), other.ids, signal)).toEqual(new Map());
  });

  it('stores and finds no vectors of older revisions', async () => {
    const space = await world.space();
    const first = await world.accept(space, { sourceId: 'a', text: 'old words' });
    await vectors.put(space.spaceId, 'm', rows(first.stored.map(({ chunkId }) => chunkId)));
    await world.accept(space, { sourceId: 'a', text: 'new words' });
    await vectors.put(space.spaceId, 'm', rows(first.stored.map(({ chunkId }) => chunkId)));
    expect(await vectors.nearest(space.spaceId, 'm', turned(0), 5, {}, signal)).toEqual([]);
    expect(await vectors.missing(space.spaceId, 'm')).toEqual({ missing: 1, total: 1 });
  });

  it('counts and lists missing vectors, and deletes other models only when none is missing', async () => {
    const { space, ids } = await filled(3);
    await vectors.put(space.spaceId, 'old', rows(ids));
    await vectors.put(space.spaceId, 'new', rows(ids.slice(0, 1)));
    expect(await vectors.missing(space.spaceId, 'new')).toEqual({ missing: 2, total: 3 });
    const listUnembedded = await vectors.listUnembedded({
      model: 'new',
      after: (ids[0] ?? 0) - 1,
      limit: 10,
    });
    expect(listUnembedded.map(({ chunkId, spaceId }) => [chunkId, spaceId])).toEqual(
      ids.slice(1).map((chunkId) => [chunkId, space.spaceId]),
    );
    expect(await vectors.deleteOtherModels(space.spaceId, 'new')).toBe(0);
    await vectors.put(space.spaceId, 'new', rows(ids));
    expect(await vectors.deleteOtherModels(space.spaceId, 'new')).toBe(3);
    expect(await vectors.cosines(space.spaceId, 'old', turned(0), ids, signal)).toEqual(new Map());
  });

  it('creates an index for a model with many vectors, whatever its name, and finds the nearest with it', async () => {
    const model = `strange ' model "x"; drop table chunk_vector`;
    const { space, ids } = await filled(120);
    const others = await filled(20);
    await vectors.put(others.space.spaceId, model, rows(others.ids));
    await vectors.put(space.spaceId, model, rows(ids));
    // Not pg_indexes: it reads definitions of all schemas and fails when another test drops one at the same time.
    const { rows: indexes } = await world.database.query<{ definition: string }>(sql`
      select pg_get_indexdef(indexrelid) as definition from pg_index where indrelid = 'chunk_vector'::regclass`);
    expect(indexes.filter(({ definition }) => /hnsw.*strange/.test(definition))).toHaveLength(1);
    const near = await vectors.nearest(space.spaceId, model, turned(0.5), 5, {}, signal);
    expect(near).toHaveLength(5);
    expect(near.every(({ chunkId }) => ids.includes(chunkId))).toBe(true);
    expect(near[0]?.cosine).toBeGreaterThan(0.9999);
    expect(near.map(({ cosine }) => cosine)).toEqual(
      near.map(({ cosine }) => cosine).toSorted((a, b) => b - a),
    );
    const few = await vectors.nearest(others.space.spaceId, model, turned(0.5), 5, {}, signal);
    expect(few.every(({ chunkId }) => others.ids.includes(chunkId))).toBe(true);
  });

  it('finds the nearest chunks a filter allows, however many others are nearer', async () => {
    const { space, ids } = await filled(120);
    await world.database.query(sql`
      update artifact set type = 'doc' where artifact_uid = (
        select artifact_uid from chunk where chunk_id = ${ids[0]}::bigint)`);
    await vectors.put(space.spaceId, 'far', rows(ids)); // up to one radian
    const put = async (type: 'email' | 'chat', count: number, turn: number): Promise<readonly number[]> => {
      const pieces = Array.from({ length: count }, (_, index) => `${type} ${index}.`);
      const { stored } = await world.accept(space, { type, text: pieces.join(' ') }, pieces);
      const far = stored.map(({ chunkId }, index) => ({ chunkId, vector: turned(turn + index / 1_000) }));
      await vectors.put(space.spaceId, 'far', far);
      return far.map(({ chunkId }) => chunkId);
    };
    const few = await put('email', 3, 2);
    const many = await put('chat', 110, 2.5);
    const nearest = async (type: 'email' | 'chat') =>
      (await vectors.nearest(space.spaceId, 'far', turned(0), 5, { types: [type] }, signal)).map(
        ({ chunkId }) => chunkId,
      );
    expect(await nearest('email')).toEqual(few);
    expect(await nearest('chat')).toEqual(many.slice(0, 5));
  });

  it('compares vectors too long for an index', async () => {
    const { space, ids } = await filled(3);
    await vectors.put(space.spaceId, 'long', rows(ids, 4_500));
    const near = await vectors.nearest(space.spaceId, 'long', turned(0, 4_500), 2, {}, signal);
    expect(near.map(({ chunkId }) => chunkId)).toEqual(ids.slice(0, 2));
  });

  it('ignores vectors of another length under the same model name', async () => {
    const { space, ids } = await filled(2);
    await vectors.put(space.spaceId, 'm', rows(ids.slice(0, 1), 4));
    await vectors.put(space.spaceId, 'm', rows(ids.slice(1), 8));
    expect((await vectors.cosines(space.spaceId, 'm', turned(0), ids, signal)).size).toBe(1);
    expect(await vectors.nearest(space.spaceId, 'm', turned(0), 5, {}, signal)).toHaveLength(1);
  });
}
