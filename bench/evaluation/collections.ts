// Collections to measure search on: documents, queries, and the relevant documents of each query.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, messageOf } from '../../src/core/index.ts';
import type { Judgments } from './metrics.ts';

export interface CollectionDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

export interface CollectionQuery {
  readonly id: string;
  readonly text: string;
  readonly judgments: Judgments;
}

export interface Collection {
  readonly documents: readonly CollectionDocument[];
  /** Only queries with relevant documents. */
  readonly queries: readonly CollectionQuery[];
}

/** Reads a file with one JSON object a line. Fails with INPUT_INVALID, naming file and line. */
export function readLines<Line>(
  name: string,
  text: string,
  read: (line: Record<string, unknown>) => Line,
): Line[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    try {
      return [read(JSON.parse(line) as Record<string, unknown>)];
    } catch (error) {
      throw badData(`Line ${index + 1} of ${name} cannot be used: ${messageOf(error)}`);
    }
  });
}

/** A field that must be text. */
export function textOf(line: Readonly<Record<string, unknown>>, field: string): string {
  const value = line[field];
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new TypeError(`"${field}" is missing or no text.`);
}

export function badData(message: string): CoreError {
  return new CoreError('INPUT_INVALID', message);
}

// Collections in the layout of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv.

/** Judgments of `test.tsv` if there is one, else of all files. Fails with INPUT_INVALID. */
export async function readBeir(folder: string): Promise<Collection> {
  const read = (name: string) => readText(folder, name);
  const documents = readLines('corpus.jsonl', await read('corpus.jsonl'), (line) => ({
    id: textOf(line, '_id'),
    title: line['title'] === undefined ? '' : textOf(line, 'title'),
    text: textOf(line, 'text'),
  }));
  const rawQueries = readLines('queries.jsonl', await read('queries.jsonl'), (line) => ({
    id: textOf(line, '_id'),
    text: textOf(line, 'text'),
  }));
  const names = (await namesIn(join(folder, 'qrels'))).filter((name) => name.endsWith('.tsv'));
  if (names.length === 0) throw badData(`There is no qrels/*.tsv in ${folder}.`);
  const judgments = new Map<string, Map<string, number>>();
  for (const name of names.includes('test.tsv') ? ['test.tsv'] : names)
    addJudgments(judgments, name, await read(join('qrels', name)));
  const queries = rawQueries
    .map((query) => ({ ...query, judgments: judgments.get(query.id) ?? new Map<string, number>() }))
    .filter((query) => [...query.judgments.values()].some((grade) => grade > 0));
  if (queries.length === 0) throw badData(`No query of ${folder} has a judgment above 0.`);
  return { documents, queries };
}

/** Lines of query, document and grade; the first line may name the columns. */
function addJudgments(judgments: Map<string, Map<string, number>>, name: string, text: string): void {
  for (const [index, line] of text.split('\n').entries()) {
    const [query, document, grade, ...more] = line.trim().split('\t');
    if (!query || (index === 0 && Number.isNaN(Number(grade)))) continue;
    if (!document || !grade || more.length > 0 || Number.isNaN(Number(grade)))
      throw badData(
        `Line ${index + 1} of qrels/${name} is not query, document and grade with tabs between them.`,
      );
    const ofQuery = judgments.get(query) ?? new Map<string, number>();
    judgments.set(query, ofQuery.set(document, Number(grade)));
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

// The Cranfield collection as it is distributed, in the layout of SMART: cran.all.1400, cran.qry, cranqrel.

const cranfieldFiles = ['cran.all.1400', 'cran.qry', 'cranqrel'] as const;

/** Whether the folder has the Cranfield files and no BEIR layout. */
export async function isCranfield(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((): string[] => []);
  return !names.includes('corpus.jsonl') && cranfieldFiles.every((name) => names.includes(name));
}

/** Every judgment of interest (1 to 4) counts as relevant, equally. Fails with INPUT_INVALID. */
export async function readCranfield(folder: string): Promise<Collection> {
  const [documents, queries, judgments] = await Promise.all(
    cranfieldFiles.map((name) =>
      readFile(join(folder, name), 'utf8').catch((error: unknown) => {
        throw badData(`${name} cannot be read in ${folder} (${messageOf(error)}).`);
      }),
    ),
  );
  const relevant = judgmentsIn(judgments ?? '');
  return {
    documents: recordsIn(documents ?? '').map(({ id, fields }) => ({
      id,
      title: fields.get('T') ?? '',
      text: fields.get('W') ?? '',
    })),
    // Judgments number the queries in file order, whatever their own ids.
    queries: recordsIn(queries ?? '').flatMap(({ fields }, index) => {
      const id = String(index + 1);
      const own = relevant.get(id);
      return own ? [{ id, text: fields.get('W') ?? '', judgments: own }] : [];
    }),
  };
}

interface SmartRecord {
  readonly id: string;
  /** Fields by their letter: T the title, W the words. */
  readonly fields: ReadonlyMap<string, string>;
}

/** `.I id`, then fields: a line with a dot and a letter, followed by its text. */
function recordsIn(text: string): readonly SmartRecord[] {
  return text
    .split(/^\.I\s+/m)
    .slice(1)
    .map((record) => {
      const [id = '', ...fields] = record.split(/^\.([A-Z])[ \t]*\r?$/m);
      const pairs = fields.flatMap((letter, index) =>
        index % 2 === 0 ? [[letter, (fields[index + 1] ?? '').replaceAll(/\s+/g, ' ').trim()] as const] : [],
      );
      return { id: id.trim(), fields: new Map(pairs) };
    });
}

/** Lines of query, document and grade; -1 is no judgment of interest. */
function judgmentsIn(text: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const [query, document, grade, ...more] = line.trim().split(/\s+/);
    if (!query || !document || more.length > 0 || !Number.isInteger(Number(grade)))
      throw badData(`Line ${index + 1} of cranqrel is no query, document and grade.`);
    if (Number(grade) < 1) continue;
    const own = found.get(query) ?? new Map<string, number>();
    found.set(query, own.set(document, 1));
  }
  return found;
}

// Questions that need several paragraphs, in HotpotQA layout: one question per line, with paragraphs and the titles of
// those with the answer. The paragraphs of all questions are searched together.

/** Fails with INPUT_INVALID. */
export async function readMultihop(file: string): Promise<Collection> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw badData(
      `${file} cannot be read (${messageOf(error)}). Give a file of questions in HotpotQA's layout, one JSON object a line.`,
    );
  });
  const questions = readLines(file, text, (line) => ({
    id: textOf(line, '_id'),
    text: textOf(line, 'question'),
    paragraphs: pairs(line, 'context').map(([title, sentences]) => ({
      title: String(title),
      text: Array.isArray(sentences) ? sentences.join('') : String(sentences),
    })),
    supporting: pairs(line, 'supporting_facts').map(([title]) => String(title)),
  }));
  const paragraphs = new Map(
    questions.flatMap(({ paragraphs }) => paragraphs.map((one) => [one.title, one])),
  );
  return {
    documents: [...paragraphs].map(([id, paragraph]) => ({ id, ...paragraph })),
    queries: questions
      .filter(({ supporting }) => supporting.length > 0)
      .map(({ id, text, supporting }) => ({
        id,
        text,
        judgments: new Map(supporting.map((title) => [title, 1])),
      })),
  };
}

function pairs(line: Readonly<Record<string, unknown>>, field: string): readonly (readonly unknown[])[] {
  const value = line[field];
  if (!Array.isArray(value) || !value.every((pair) => Array.isArray(pair)))
    throw new TypeError(`"${field}" is no list of pairs.`);
  return value as readonly (readonly unknown[])[];
}
