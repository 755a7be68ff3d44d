import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/services.ts';
import { isCranfield, readBeir, readCranfield, readMultihop } from './collections.ts';
import type { CollectionScores } from './rank-collection.ts';
import { bestBlend } from './rank-collection.ts';

async function beir(files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'qrels'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}
const corpus = '{"_id": "d1", "title": "One", "text": "first"}\n{"_id": 2, "text": "second"}\n\n';
const queries = '{"_id": "q1", "text": "one?"}\n{"_id": "q2", "text": "two?"}\n';
const qrels = 'query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t2\t0\nq2\td1\t-1\n';

describe('a collection in BEIR layout', () => {
  it('is read without queries that have no relevant documents', async () => {
    const folder = await beir({ 'corpus.jsonl': corpus, 'queries.jsonl': queries, 'qrels/test.tsv': qrels });
    expect(await readBeir(folder)).toEqual({
      documents: [
        { id: 'd1', title: 'One', text: 'first' },
        { id: '2', title: '', text: 'second' },
      ],
      queries: [
        {
          id: 'q1',
          text: 'one?',
          judgments: new Map([
            ['d1', 2],
            ['2', 0],
          ]),
        },
      ],
    });
  });

  it('reads judgments from test.tsv, else from all files, with or without a header', async () => {
    const files = {
      'corpus.jsonl': corpus,
      'queries.jsonl': queries,
      'qrels/a.tsv': 'q1\td1\t1\n',
      'qrels/b.tsv': 'q2\t2\t1',
    };
    expect((await readBeir(await beir(files))).queries).toHaveLength(2);
    const tested = await readBeir(await beir({ ...files, 'qrels/test.tsv': 'q2\t2\t1' }));
    expect(tested.queries.map(({ id }) => id)).toEqual(['q2']);
  });

  it.each([
    ['no corpus', { 'queries.jsonl': queries, 'qrels/test.tsv': qrels }, 'corpus.jsonl cannot be read'],
    ['no judgments', { 'corpus.jsonl': corpus, 'queries.jsonl': queries }, 'There is no qrels'],
    [
      'broken JSON',
      { 'corpus.jsonl': '{"_id": "a", "text": "x"}\n{', 'queries.jsonl': queries },
      'Line 2 of corpus.jsonl',
    ],
    [
      'a document without text',
      { 'corpus.jsonl': '{"_id": "a"}', 'queries.jsonl': queries },
      '"text" is missing',
    ],
    [
      'a judgment without grade',
      { 'corpus.jsonl': corpus, 'queries.jsonl': queries, 'qrels/test.tsv': `${qrels}q1 d1 1` },
      'Line 5 of qrels/test.tsv',
    ],
    [
      'nothing relevant',
      { 'corpus.jsonl': corpus, 'queries.jsonl': queries, 'qrels/test.tsv': 'q1\td1\t0' },
      'No query',
    ],
  ])('is rejected with %s', async (_, files, message) => {
    const reading = readBeir(await beir(files));
    await expect(reading).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(reading).rejects.toThrow(message);
  });
});

describe('questions in HotpotQA layout', () => {
  const question = (id: string, titles: readonly string[], supporting: readonly string[]) =>
    JSON.stringify({
      _id: id,
      question: `${id}?`,
      context: titles.map((title) => [title, ['One. ', 'Two.']]),
      supporting_facts: supporting.map((title) => [title, 0]),
    });

  it('search all paragraphs of all questions; each title counts once', async () => {
    const file = join(await temporaryFolder(), 'q.jsonl');
    await writeFile(
      file,
      [question('a', ['X', 'Y'], ['X', 'X', 'Y']), question('b', ['Y', 'Z'], ['Z'])].join('\n'),
    );
    const { documents, queries: rawQueries } = await readMultihop(file);
    expect(documents.map(({ id, text }) => [id, text])).toEqual([
      ['X', 'One. Two.'],
      ['Y', 'One. Two.'],
      ['Z', 'One. Two.'],
    ]);
    expect(rawQueries.map(({ judgments }) => [...judgments.keys()])).toEqual([['X', 'Y'], ['Z']]);
  });

  it.each([
    ['is not there', null, 'cannot be read'],
    ['has other fields', '{"_id": "a", "question": "q"}', '"context" is no list'],
  ])('are rejected when the file %s', async (_, text, message) => {
    const file = join(await temporaryFolder(), 'q.jsonl');
    if (text !== null) await writeFile(file, text);
    await expect(readMultihop(file)).rejects.toThrow(message);
  });
});

describe('calibration', () => {
  const figures = (ndcgAt10: number, recallAt10: number) => ({
    ndcgAt10,
    recallAt10,
    recallAt5: 0,
    mrrAt10: 0,
  });
  const tried = (weight: number, ndcgAt10: number, recallAt10: number) => ({
    blend: { kind: 'rerank', weight, depth: 100 } as const,
    figures: figures(ndcgAt10, recallAt10),
  });
  const scores = (...calibration: readonly ReturnType<typeof tried>[]): CollectionScores => ({
    documents: 1,
    chunks: 1,
    queries: 1,
    lexical: figures(0.4, 0.5),
    hybrid: null,
    calibration,
  });

  it('recommends the blend that gains most and loses nothing', () => {
    const best = bestBlend(scores(tried(0.1, 0.41, 0.5), tried(0.2, 0.42, 0.51), tried(0.3, 0.5, 0.48)));
    expect(best?.blend).toMatchObject({ weight: 0.2 });
  });

  it('recommends none when the lexical ranking is better', () => {
    expect(bestBlend(scores(tried(0.1, 0.398, 0.499), tried(0.2, 0.3, 0.3)))).toBeNull();
  });
});

describe('Cranfield as it is distributed', () => {
  const files = {
    'cran.all.1400':
      '.I 1\n.T\na wing in a\nslipstream .\n.A\nsomebody\n.B\na journal\n.W\na wing in a slipstream .\n  it was studied .\n' +
      '.I 2\n.T\na flat plate .\n.A\n.B\n.W\n.I 3\n.T\nheat\n.W\nheated slabs\n',
    'cran.qry':
      '.I 001\n.W\nwhat of wings\nin streams .\n.I 007\n.W\nnobody knows .\n.I 009\n.W\nwhat of heat .\n',
    cranqrel: '1 1 2 \n1 3 -1 \n2 2  -1\n3 3 4 \n',
  };

  it('is read with queries in order and all judgments of interest as relevant', async () => {
    const folder = await beir(files);
    expect(await isCranfield(folder)).toBe(true);
    expect(await readCranfield(folder)).toEqual({
      documents: [
        { id: '1', title: 'a wing in a slipstream .', text: 'a wing in a slipstream . it was studied .' },
        { id: '2', title: 'a flat plate .', text: '' },
        { id: '3', title: 'heat', text: 'heated slabs' },
      ],
      queries: [
        { id: '1', text: 'what of wings in streams .', judgments: new Map([['1', 1]]) },
        { id: '3', text: 'what of heat .', judgments: new Map([['3', 1]]) },
      ],
    });
  });

  it('is not detected in a BEIR layout or with a missing file, and names the invalid line', async () => {
    expect(await isCranfield(await beir({ ...files, 'corpus.jsonl': corpus }))).toBe(false);
    expect(await isCranfield(await beir({ 'cran.qry': '' }))).toBe(false);
    await expect(readCranfield(await beir({ ...files, cranqrel: '1 1 2\n1 two three\n' }))).rejects.toThrow(
      'Line 2 of cranqrel',
    );
  });
});
