// Questions that need several paragraphs, in the layout of HotpotQA: a question a line, with paragraphs and the titles of
// those that hold the answer. All paragraphs of all questions together are what is searched.
import { readFile } from 'node:fs/promises';
import { messageOf } from '../../core/index.ts';
import type { Collection } from './collection.ts';
import { badData, readLines, textOf } from './collection.ts';

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
        judgements: new Map(supporting.map((title) => [title, 1])),
      })),
  };
}

function pairs(line: Readonly<Record<string, unknown>>, field: string): readonly (readonly unknown[])[] {
  const value = line[field];
  if (!Array.isArray(value) || !value.every((pair) => Array.isArray(pair)))
    throw new TypeError(`"${field}" is no list of pairs.`);
  return value as readonly (readonly unknown[])[];
}
