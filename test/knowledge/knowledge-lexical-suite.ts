// The lexical index on real stores: written with its chunks, exact totals, BM25 with boosts, filters, any query.
import { beforeAll, expect, it } from 'vitest';
import type { SearchFilter, Space } from '../../src/knowledge/index.ts';
import { LexicalIndex } from '../../src/knowledge/search/lexical-index.ts';
import { removePostings, writePostings } from '../../src/knowledge/search/postings.ts';
import { SearchStore } from '../../src/knowledge/search/results.ts';
import { sql } from '../../src/platform/postgres/index.ts';
import type { KnowledgeWorld } from '../support/knowledge-world.ts';

const { signal } = new AbortController();

/** Runs on a world that the caller opens and closes. */
export function lexicalSuite(open: () => KnowledgeWorld): void {
  let world: KnowledgeWorld;
  let index: LexicalIndex;
  beforeAll(() => {
    world = open();
    index = new LexicalIndex(world.database);
  });

  const totals = async ({ spaceId }: Space) => {
    const { rows } = await world.database.query<{ chunks: number; len: number }>(sql`
      select coalesce(sum(chunk_count), 0)::integer as chunks, coalesce(sum(total_len), 0)::integer as len
      from corpus_total where space_id = ${spaceId}`);
    return rows[0];
  };
  /** The totals, counted from the postings. */
  const counted = async ({ spaceId }: Space) => {
    const { rows } = await world.database.query<{ chunks: number; len: number }>(sql`
      select count(*)::integer as chunks, coalesce(sum(len), 0)::integer as len
      from (select distinct chunk_id, len from chunk_posting where space_id = ${spaceId}) as one`);
    return rows[0];
  };
  const titles = async (
    space: Space,
    query: string,
    filter: SearchFilter = {},
  ): Promise<readonly string[]> => {
    const hits = await index.search(space, query, 10, filter, signal);
    const ids = hits.map(({ chunkId }) => chunkId);
    const shown = await new SearchStore(world.database).hits(space, ids, query, signal);
    return ids.map((id) => shown.find(({ chunkId }) => chunkId === id)?.title ?? '?');
  };

  it('keeps totals exact through revisions, removals and repetition', async () => {
    const space = await world.space();
    const first = await world.accept(space, {
      sourceId: 'a',
      title: 'Plan',
      text: 'ships sail. ships sink.',
    });
    expect(await totals(space)).toEqual({ chunks: 1, len: 5 });
    await world.accept(space, { sourceId: 'b', title: '', text: 'the of and' }); // stop words only: no posting
    expect(await totals(space)).toEqual({ chunks: 1, len: 5 });
    await world.accept(space, { sourceId: 'a', title: 'Plan', text: 'trains' });
    expect(await totals(space)).toEqual({ chunks: 1, len: 2 });
    await removePostings(world.database, space.spaceId, first.revisionId);
    expect(await totals(space)).toEqual({ chunks: 1, len: 2 });
    const { stored, revisionId } = await world.accept(space, {
      sourceId: 'c',
      title: 'x',
      text: 'more words here',
    });
    const before = await totals(space);
    await writePostings(
      world.database,
      space,
      stored.map((chunk) => ({ ...chunk, title: 'x' })),
    );
    expect(await totals(space)).toEqual(before);
    await removePostings(world.database, space.spaceId, revisionId);
    await removePostings(world.database, space.spaceId, revisionId);
    expect(await totals(space)).toEqual({ chunks: 1, len: 2 });
    await world.artifacts.remove(space.spaceId, first.artifactUid);
    expect(await totals(space)).toEqual({ chunks: 0, len: 0 });
    expect(await index.search(space, 'trains', 5, {}, signal)).toEqual([]);
  });

  it('keeps totals exact with concurrent writers', async () => {
    const space = await world.space();
    await Promise.all(
      Array.from({ length: 12 }, (_, number) =>
        world.accept(space, { sourceId: `n${number % 4}`, text: `wave ${'water '.repeat(number + 1)}` }),
      ),
    );
    expect(await totals(space)).toEqual(await counted(space));
    expect((await totals(space))?.chunks).toBe(4);
  });

  it('deletes postings with their chunks, whatever deletes these', async () => {
    const space = await world.space();
    const { artifactUid } = await world.accept(space, { text: 'falling leaves' });
    await world.accept(space, { text: 'standing trees' });
    await world.database.query(sql`delete from artifact where artifact_uid = ${artifactUid}::uuid`);
    expect(await totals(space)).toEqual(await counted(space));
    expect((await totals(space))?.chunks).toBe(1);
    await world.spaces.delete(space);
    expect(await counted(space)).toEqual({ chunks: 0, len: 0 });
  });

  it('scores by BM25', async () => {
    const space = await world.space();
    await world.accept(space, { title: '', text: 'storm storm harbor' });
    await world.accept(space, { title: '', text: 'storm harbor harbor harbor harbor' });
    await world.accept(space, { title: '', text: 'calm harbor water' });
    const [first, second] = await index.search(space, 'storm', 5, {}, signal);
    const idf = Math.log(1 + (3 - 2 + 0.5) / (2 + 0.5));
    const score = (tf: number, len: number): number =>
      (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * len) / (11 / 3)));
    expect(first?.score).toBeCloseTo(score(2, 3), 5);
    expect(second?.score).toBeCloseTo(score(1, 5), 5);
  });

  it('ranks rare terms, title terms and adjacent terms higher', async () => {
    const space = await world.space();
    for (const other of ['one', 'two', 'three', 'four', 'five', 'six'])
      await world.accept(space, { title: other, text: `${other} common common talk` });
    await world.accept(space, { title: 'rare', text: 'zebra in passing, common talk' });
    expect((await titles(space, 'common zebra'))[0]).toBe('rare');
    await world.accept(space, { title: 'Quarterly budget', text: 'numbers for the months ahead' });
    await world.accept(space, { title: 'Minutes', text: 'budget budget quarterly and so on' });
    expect((await titles(space, 'quarterly budget'))[0]).toBe('Quarterly budget');
    const words = 'once upon a time they met a man who knew another man entirely';
    await world.accept(space, { title: 'far', text: `green ${words} lantern` });
    await world.accept(space, { title: 'near', text: `${words} green lantern` });
    expect(await titles(space, 'green lantern')).toEqual(['near', 'far']);
  });

  it('counts a term as often as the query repeats it', async () => {
    const space = await world.space();
    await world.accept(space, { title: 'apples', text: 'apple pie' });
    await world.accept(space, { title: 'pears', text: 'pear pie' });
    expect((await titles(space, 'apple pear pear'))[0]).toBe('pears');
    expect((await titles(space, 'apple apple pear'))[0]).toBe('apples');
  });

  it('matches a quoted phrase exactly and weighs it higher among other words', async () => {
    const space = await world.space();
    await world.accept(space, { title: 'exact', text: 'we talk of the launch date of the product' });
    await world.accept(space, {
      title: 'apart',
      text: 'the launch has no fixed date, and the date no launch',
    });
    await world.accept(space, { title: 'launch', text: 'date of nothing' });
    expect(await titles(space, '"launch date"')).toEqual(['exact']);
    expect(await titles(space, '"launch of date"')).toEqual([]);
    expect(await titles(space, '“launch date” „product“')).toEqual(['exact']);
    expect((await titles(space, 'what is the "launch date"'))[0]).toBe('exact');
    expect(await titles(space, 'what is the "launch date"')).toHaveLength(3);
    expect(await titles(space, '"unknown words"')).toEqual([]);
    expect(await titles(space, '"launch date" "nothing"')).toEqual([]);
  });

  it('uses the language of the space', async () => {
    const german = await world.space(null, 'german');
    await world.accept(german, { title: 'Häuser', text: 'Die Häuser der Städte' });
    expect(await titles(german, 'haus')).toEqual(['Häuser']);
    const english = await world.space();
    await world.accept(english, { title: 'Häuser', text: 'Die Häuser der Städte' });
    expect(await titles(english, 'haus')).toEqual([]);
  });

  it.each([
    ['nothing but stop words', 'the of and to be'],
    ['nothing but signs', '!!! ??? "" \' \\ & | <-> :* ()'],
    ['blanks', '   \n\t '],
    ['characters Postgres refuses', 'storm\0\ud800'],
    ['SQL', `'; drop table chunk_posting; --`],
    ['operators of text search', 'storm & !harbor | (calm <2> water):*A'],
    ['a very long text', 'word '.repeat(200_000)],
    ['very many words', Array.from({ length: 20_000 }, (_, number) => `w${number}`).join(' ')],
    ['one endless word', 'x'.repeat(1_000_000)],
  ])('accepts a query of %s', async (_, query) => {
    const space = await world.space();
    await world.accept(space, { title: 'storm', text: 'storm over the harbor' });
    const found = await index.search(space, query, 5, {}, signal);
    expect(found.length).toBe(query.startsWith('storm') ? 1 : 0);
  });

  it('finds the terms of a phrase after very many others', async () => {
    const space = await world.space();
    await world.accept(space, { title: 'target', text: 'a needle in the haystack' });
    const many = Array.from({ length: 200 }, (_, number) => `w${number}`).join(' ');
    expect(await titles(space, `${many} "needle in the haystack"`)).toEqual(['target']);
    const truncated: string[] = [];
    const search = (query: string) =>
      index.search(space, query, 5, {}, signal, (sentence) => truncated.push(sentence));
    await search('the needle in a haystack');
    expect(truncated).toEqual([]);
    await search(many);
    expect(truncated).toEqual(['Only the first 64 distinct words of the query were searched.']);
  });

  it.each([
    [
      'Japanese',
      '来週の会議で新しい価格をGPU向けに決定する。',
      '価格',
      '価格 会議',
      '"価格会議"',
      '"新しい価格"',
    ],
    ['Chinese', '我们决定在四月发布新的价格页面', '价格', '发布 价格', '"价格发布"', '"新的价格"'],
    ['Thai', 'เราตัดสินใจเปิดตัวหน้าราคาใหม่ในเดือนเมษายน', 'ราคา', 'เมษายน ราคา', '"เมษายนราคา"', '"ราคาใหม่"'],
    [
      'Korean',
      '우리는 다음 회의에서 새로운 가격을 결정했다',
      '회의',
      '가격 회의',
      '"가격 회의"',
      '"회의에서 새로운"',
    ],
  ])('finds %s words, which have no spaces between them', async (_, text, word, words, notThere, phrase) => {
    const space = await world.space();
    await world.accept(space, { title: 'other', text: '別の文章です 其他文字 ข้อความอื่น 다른 문장 only' });
    await world.accept(space, { title: 'found', text });
    for (const query of [word, words, `only ${word} ${word}`, phrase, `"${word}"`])
      expect((await titles(space, query))[0], query).toBe('found');
    expect(await titles(space, notThere)).toEqual([]);
    const [hit] = await index.search(space, word, 1, {}, signal);
    const store = new SearchStore(world.database);
    const [shown] = await store.hits(space, [hit?.chunkId ?? 0], word, signal);
    expect(shown?.highlights.map(({ start, end }) => text.slice(start, end))).toContain(word);
  });

  it('finds a single Han character, Latin words next to others, and titles', async () => {
    const space = await world.space();
    await world.accept(space, { title: '東京都の計画', text: '猫はGPUの横で寝る。' });
    await world.accept(space, { title: 'other', text: '犬が走る' });
    for (const query of ['猫', '横', 'gpu', '東京', '計画', '"東京都"'])
      expect(await titles(space, query), query).toEqual(['東京都の計画']);
    expect(await titles(space, '鳥')).toEqual([]);
  });

  it('finds nothing in an empty space and nothing in other spaces', async () => {
    const [mine, other] = [await world.space(), await world.space()];
    await world.accept(other, { text: 'secret word' });
    expect(await index.search(mine, 'secret', 5, {}, signal)).toEqual([]);
    await world.accept(mine, { text: 'public word' });
    expect(await index.search(mine, 'secret word', 5, {}, signal)).toHaveLength(1);
    expect(await index.search(mine, '"secret word"', 5, {}, signal)).toEqual([]);
  });

  it('filters by type, source, time, category and entity', async () => {
    const space = await world.space();
    const mail = await world.accept(space, {
      type: 'email',
      sourceSystem: 'gmail',
      title: 'mail',
      text: 'the harbor',
      sourceTs: new Date('2026-01-10T00:00:00Z'),
    });
    await world.accept(space, { title: 'note', text: 'harbor' });
    const [chunk] = mail.stored;
    const [entityId, eventId] = [world.ids.uuid(), world.ids.uuid()];
    await world.database.query(sql`
      insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, created_at, updated_at)
      values (${entityId}, ${space.spaceId}, 'person', 'Ann', 'ann', now(), now())`);
    await world.database.query(sql`
      insert into entity_mention (mention_id, space_id, entity_id, resolved_id, artifact_uid, revision_id, chunk_id, surface_form,
        method, confidence)
      values (${world.ids.uuid()}, ${space.spaceId}, ${entityId}, ${entityId}, ${mail.artifactUid}, ${mail.revisionId},
        ${chunk?.chunkId}, 'Ann', 'rules', 1)`);
    await world.database.query(sql`
      insert into semantic_event (event_id, space_id, artifact_uid, revision_id, chunk_id, category, narrative,
        confidence, method, created_at)
      values (${eventId}, ${space.spaceId}, ${mail.artifactUid}, ${mail.revisionId}, ${chunk?.chunkId}, 'Decision',
        'Ann decides', 1, 'rules', now())`);
    const find = (filter: SearchFilter) => titles(space, 'harbor', filter);
    expect(await find({})).toHaveLength(2);
    expect(await find({ types: ['email'] })).toEqual(['mail']);
    expect(await find({ types: ['chat'] })).toEqual([]);
    expect(await find({ sources: ['gmail', 'other'] })).toEqual(['mail']);
    expect(await find({ to: new Date('2026-02-01T00:00:00Z') })).toEqual(['mail']);
    expect(await find({ from: new Date('2026-02-01T00:00:00Z') })).toEqual(['note']);
    expect(await find({ categories: ['Decision'] })).toEqual(['mail']);
    expect(await find({ categories: ['Change'] })).toEqual([]);
    expect(await find({ entityIds: [entityId] })).toEqual(['mail']);
    expect(await find({ entityIds: [world.ids.uuid()] })).toEqual([]);
    expect(await find({ types: ['note'], entityIds: [entityId] })).toEqual([]);
  });

  it('filters by entities that a whole document mentions, also by the id of a merged entity', async () => {
    const space = await world.space();
    const pieces = ['First harbor.', 'Second harbor.'];
    const item = await world.accept(space, { title: 'item', text: pieces.join(' ') }, pieces);
    await world.accept(space, { title: 'other', text: 'harbor' });
    const [live, merged, older] = [world.ids.uuid(), world.ids.uuid(), world.ids.uuid()];
    for (const [entityId, into] of [
      [live, null],
      [merged, live],
      [older, merged],
    ])
      await world.database.query(sql`
        insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, merged_into, created_at,
          updated_at)
        values (${entityId}, ${space.spaceId}, 'person', 'Ann', 'ann', ${into}, now(), now())`);
    await world.database.query(sql`
      insert into entity_mention (mention_id, space_id, entity_id, resolved_id, artifact_uid, revision_id, surface_form, method,
        confidence, relation)
      values (${world.ids.uuid()}, ${space.spaceId}, ${live}, ${live}, ${item.artifactUid}, ${item.revisionId}, 'Ann',
        'structured', 1, 'owner')`);
    for (const id of [live, merged, older])
      expect(await titles(space, 'harbor', { entityIds: [id] }), id).toEqual(['item', 'item']);
    expect(await titles(space, 'harbor', { entityIds: [world.ids.uuid()] })).toEqual([]);
  });

  it('reports when no term of a query is searchable and when it has too many phrases', async () => {
    const [space, empty] = [await world.space(), await world.space()];
    await world.accept(space, { text: 'the harbor of one and two' });
    const truncated = async (query: string, where = space): Promise<readonly string[]> => {
      const sentences: string[] = [];
      await index.search(where, query, 5, {}, signal, (sentence) => sentences.push(sentence));
      return sentences;
    };
    const noWord = [
      'The query has no searchable word: punctuation and stop words such as “the” are not indexed.',
    ];
    for (const query of ['the of and', '!!!', '"the of"', '?! …'])
      expect(await truncated(query), query).toEqual(noWord);
    expect(await truncated('the', empty)).toEqual(noWord);
    for (const query of ['the harbor', 'nowhere', '"one and two"'])
      for (const where of [space, empty]) expect(await truncated(query, where), query).toEqual([]);
    const quoted = (count: number) => Array.from({ length: count }, (_, no) => `"one ${no}"`).join(' ');
    expect(await truncated(quoted(8))).toEqual([]);
    expect(await truncated(quoted(9))).toEqual(['Only the first 8 quoted phrases were searched as phrases.']);
  });

  it('finds the same best results in a large space, where frequent terms only affect the order', async () => {
    const space = await world.space();
    const pieces = Array.from({ length: 2_400 }, (_, number) => {
      const rare = number % 2 === 0 ? 'alpha' : 'beta';
      return number === 1_234
        ? 'alpha beta common usual talk.'
        : `${rare} common usual filler${number % 50}.`;
    });
    const { stored } = await world.accept(space, { title: '', text: pieces.join(' ') }, pieces);
    const [best] = await index.search(space, 'alpha beta common usual talk', 5, {}, signal);
    expect(stored.find(({ chunkId }) => chunkId === best?.chunkId)?.position).toBe(1_234);
    const both = await index.search(space, 'common usual filler7', 5, {}, signal);
    expect(both.map(({ chunkId }) => stored.find((one) => one.chunkId === chunkId)?.text)).toEqual(
      Array.from({ length: 5 }, () => 'beta common usual filler7.'),
    );
  });

  it("returns the positions of the query's words in the text", async () => {
    const space = await world.space();
    const text = '🦊 <b>Ships</b> & "shipping": a ship\u2019s captain sails.\n\tNo sale.';
    await world.accept(space, { title: 'ships', text });
    const [hit] = await index.search(space, 'ship sailing', 1, {}, signal);
    const [shown] = await new SearchStore(world.database).hits(
      space,
      [hit?.chunkId ?? 0],
      'ship sailing',
      signal,
    );
    expect(shown?.highlights.map(({ start, end }) => shown.text.slice(start, end))).toEqual([
      'Ships',
      'shipping',
      'ship',
      'sails',
    ]);
  });
}
