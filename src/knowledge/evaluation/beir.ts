// Collections in the layout of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/index.ts';
import type { Collection } from './collection.ts';
import { badData, readLines, textOf } from './collection.ts';

/** Judgements of `test.tsv` if there is one, else of all files. Fails with INPUT_INVALID. */
export async function readBeir(folder: string): Promise<Collection> {
  const read = (name: string) => readText(folder, name);
  const documents = readLines('corpus.jsonl', await read('corpus.jsonl'), (line) => ({
    id: textOf(line, '_id'),
    title: line['title'] === undefined ? '' : textOf(line, 'title'),
    text: textOf(line, 'text'),
  }));
  const asked = readLines('queries.jsonl', await read('queries.jsonl'), (line) => ({
    id: textOf(line, '_id'),
    text: textOf(line, 'text'),
  }));
  const names = (await namesIn(join(folder, 'qrels'))).filter((name) => name.endsWith('.tsv'));
  if (names.length === 0) throw badData(`There is no qrels/*.tsv in ${folder}.`);
  const judgements = new Map<string, Map<string, number>>();
  for (const name of names.includes('test.tsv') ? ['test.tsv'] : names)
    addJudgements(judgements, name, await read(join('qrels', name)));
  const queries = asked
    .map((query) => ({ ...query, judgements: judgements.get(query.id) ?? new Map<string, number>() }))
    .filter((query) => [...query.judgements.values()].some((grade) => grade > 0));
  if (queries.length === 0) throw badData(`No query of ${folder} has a judgement above 0.`);
  return { documents, queries };
}

/** Lines of query, document and grade; the first line may name the columns. */
function addJudgements(judgements: Map<string, Map<string, number>>, name: string, text: string): void {
  for (const [index, line] of text.split('\n').entries()) {
    const [query, document, grade, ...more] = line.trim().split('\t');
    if (!query || (index === 0 && Number.isNaN(Number(grade)))) continue;
    if (!document || !grade || more.length > 0 || Number.isNaN(Number(grade)))
      throw badData(
        `Line ${index + 1} of qrels/${name} is not query, document and grade with tabs between them.`,
      );
    const ofQuery = judgements.get(query) ?? new Map<string, number>();
    judgements.set(query, ofQuery.set(document, Number(grade)));
  }
}

/** Fails with INPUT_INVALID. */
async function readText(folder: string, name: string): Promise<string> {
  try {
    return await readFile(join(folder, name), 'utf8');
  } catch (error) {
    throw badData(
      `${name} cannot be read in ${folder} (${messageOf(error)}). Give the folder of a collection in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/test.tsv; or of Cranfield as it is distributed: cran.all.1400, cran.qry, cranqrel.`,
    );
  }
}

const namesIn = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);
