// Records with known duplicates from CSV files, as mentions with clues.
import type { ContextClues } from '../../src/knowledge/reading/types.ts';
import type { NameRecord } from './generated-names.ts';

export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Comma-separated values with quotes; values are trimmed. */
export function readCsv(text: string): Table {
  const [header = [], ...rows] = splitCsv(text.replace(/^\ufeff/, '')).filter((row) => row.some(Boolean));
  return { header: header.map((name) => name.toLowerCase()), rows };
}

function splitCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  let value = '';
  let isQuoted = false;
  const endValue = () => {
    row.push(value.trim());
    value = '';
  };
  const endRow = () => {
    endValue();
    rows.push(row);
    row = [];
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? '';
    if (isQuoted) {
      if (sign !== '"') value += sign;
      else if (text[at + 1] === '"') value += text[++at] ?? '';
      else isQuoted = false;
    } else if (sign === '"' && value.trim() === '') isQuoted = true;
    else if (sign === ',') endValue();
    else if (sign === '\n') endRow();
    else if (sign !== '\r') value += sign;
  }
  if (value !== '' || row.length > 0) endRow();
  return rows;
}

const nameColumns: readonly (readonly string[])[] = [
  ['given_name', 'first_name', 'firstname'],
  ['surname', 'last_name', 'lastname', 'family_name'],
];
const wholeNameColumns: readonly string[] = ['name', 'full_name', 'company', 'title'];
const clueColumns: Readonly<Record<string, 'email' | 'organization' | 'role'>> = {
  email: 'email',
  organization: 'organization',
  employer: 'organization',
  role: 'role',
};

/** A set of records: their ids show which belong together (`rec-7-org`, `rec-7-dup-0`), or a column `truth` does. */
export const isRecordTable = ({ header }: Table): boolean =>
  header.includes('rec_id') || header.includes('truth');

/** Pairs of a name and a short form of it. */
export const isNicknameTable = ({ header }: Table): boolean =>
  header.includes('name1') && header.includes('name2');

/** Every field besides names becomes a note `field: value`. */
export function recordsOf({ header, rows }: Table): readonly NameRecord[] {
  return rows.map((row) => {
    const cell = (column: string) => row[header.indexOf(column)] ?? '';
    const parts = nameColumns.map((columns) => columns.map(cell).find(Boolean) ?? '');
    const name = parts.some(Boolean)
      ? parts.join(' ').trim()
      : (wholeNameColumns.map(cell).find(Boolean) ?? '');
    const id = header.includes('truth') ? cell('truth') : cell('rec_id').replace(/-(org|dup-\d+)$/, '');
    const isPerson = parts.some(Boolean) || cell('type') !== 'org';
    return { truth: id, type: isPerson ? 'person' : 'organization', name, clues: cluesOf(header, row) };
  });
}

function cluesOf(header: readonly string[], row: readonly string[]): ContextClues {
  const known = new Set([...nameColumns.flat(), ...wholeNameColumns, 'rec_id', 'truth', 'type']);
  const clues: { email?: string; organization?: string; role?: string; notes: string[] } = { notes: [] };
  for (const [index, column] of header.entries()) {
    const value = row[index] ?? '';
    const clue = clueColumns[column];
    if (value === '' || known.has(column)) continue;
    if (clue === undefined) clues.notes.push(`${column.replaceAll('_', ' ')}: ${value}`);
    else clues[clue] = value;
  }
  return clues;
}

export function nicknamesOf({ header, rows }: Table): ReadonlyMap<string, readonly string[]> {
  const [from, to] = [header.indexOf('name1'), header.indexOf('name2')];
  const forms = new Map<string, string[]>();
  for (const row of rows) {
    const name = row[from]?.toLowerCase() ?? '';
    forms.set(name, [...(forms.get(name) ?? []), row[to]?.toLowerCase() ?? '']);
  }
  return forms;
}
