// Verifies types: as many items, versions and pages as were counted, without gaps, and as many items as the source says.
import { findGaps } from '../page-ranges.ts';
import type { TypeRecord } from '../records.ts';
import { readPages } from './progress.ts';
import type { VaultReader } from './vault-reader.ts';
import type { Tally } from './verify-tally.ts';

/** Every session has a checkpoint for each type that it asked for. */
export function checkCheckpoints({ db }: VaultReader, tally: Tally): void {
  const rows = db
    .prepare(
      `SELECT session.number, asked.value ->> 'name' AS name
       FROM extraction_sessions AS session, json_each(session.types) AS asked
       WHERE NOT EXISTS (SELECT 1 FROM checkpoints JOIN content_types AS type ON type.number = content_type
                         WHERE checkpoints.session = session.number AND type.name = asked.value ->> 'name')`,
    )
    .all();
  for (const { number, name } of rows)
    tally.add('damaged', String(name), null, `The checkpoint of session ${Number(number)} is missing.`);
}

export function checkTypes(reader: VaultReader, tally: Tally): void {
  for (const type of reader.types()) {
    checkCounts(reader, type, tally);
    const incomplete = (message: string) => tally.add('incomplete', type.type, null, message);
    const pages = readPages(reader.db, type.session, reader.typeNumber(type.type)).done;
    tally.pages += pages.length;
    if (type.status === 'incomplete') incomplete(`${type.reason ?? 'Something is missing'}.`);
    else if (type.status !== 'completed')
      incomplete('It was not read to its end: the extraction did not finish.');
    else {
      for (const gap of findGaps(pages)) incomplete(`${gap}.`);
      if (type.expectedTotal !== null && type.itemsSeen < type.expectedTotal)
        incomplete(`The source counts ${type.expectedTotal} items, ${type.itemsSeen} came.`);
    }
  }
}

/** Rows that somebody removed leave no trace of their own: they are missed by their number. */
function checkCounts({ db }: VaultReader, { type, session, itemsSeen }: TypeRecord, tally: Tally): void {
  const counts = db
    .prepare(
      `SELECT items AS kept, (SELECT count(*) FROM item_heads WHERE content_type = type.number) AS present,
              versions AS added, (SELECT count(*) FROM content_versions WHERE content_type = type.number) AS there,
              (SELECT count(*) FROM item_heads WHERE content_type = type.number AND session = ?1) AS seen,
              (SELECT pages FROM checkpoints WHERE content_type = type.number AND session = ?1) AS read,
              (SELECT count(*) FROM pages WHERE content_type = type.number AND session = ?1 AND state = 'done') AS marked
       FROM content_types AS type WHERE name = ?2`,
    )
    .get(session, type);
  const count = (name: string): number => Number(counts?.[name]);
  const damaged = (message: string) => tally.add('damaged', type, null, message);
  if (count('kept') !== count('present'))
    damaged(`${count('kept')} items were written, ${count('present')} are in the file.`);
  else if (count('seen') !== itemsSeen)
    damaged(`Session ${session} saw ${itemsSeen} items, the file has ${count('seen')} of them.`);
  // Pruning takes off what it deletes, so that only what others removed is missed.
  if (count('added') !== count('there'))
    damaged(`${count('added')} versions of items should be in the file, ${count('there')} are.`);
  if (count('read') !== count('marked'))
    damaged(`${count('read')} pages were read, ${count('marked')} are in the file.`);
}
