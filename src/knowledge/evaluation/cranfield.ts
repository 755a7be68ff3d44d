// The Cranfield collection as it is distributed, in the layout of SMART: cran.all.1400, cran.qry, cranqrel.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/index.ts';
import type { Collection } from './collection.ts';
import { badData } from './collection.ts';

const cranfieldFiles = ['cran.all.1400', 'cran.qry', 'cranqrel'] as const;

/** Does the folder hold it, and nothing in BEIR's layout? */
export async function isCranfield(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((): string[] => []);
  return !names.includes('corpus.jsonl') && cranfieldFiles.every((name) => names.includes(name));
}

/** Whatever was judged as of any interest (1 to 4) is relevant, and equally so. Fails with INPUT_INVALID. */
export async function readCranfield(folder: string): Promise<Collection> {
  const [documents, queries, judgements] = await Promise.all(
    cranfieldFiles.map((name) =>
      readFile(join(folder, name), 'utf8').catch((error: unknown) => {
        throw badData(`${name} cannot be read in ${folder} (${messageOf(error)}).`);
      }),
    ),
  );
  const relevant = judgementsIn(judgements ?? '');
  return {
    documents: recordsIn(documents ?? '').map(({ id, fields }) => ({
      id,
      title: fields.get('T') ?? '',
      text: fields.get('W') ?? '',
    })),
    // Judgements number the queries as they come, whatever their own ids are.
    queries: recordsIn(queries ?? '').flatMap(({ fields }, index) => {
      const id = String(index + 1);
      const own = relevant.get(id);
      return own ? [{ id, text: fields.get('W') ?? '', judgements: own }] : [];
    }),
  };
}

interface SmartRecord {
  readonly id: string;
  /** By their letter: T the title, W the words. */
  readonly fields: ReadonlyMap<string, string>;
}

/** `.I id`, then fields: a line with a dot and a letter, and what stands below it. */
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

/** Lines of query, document and grade; -1 is no judgement of interest. */
function judgementsIn(text: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
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
