// What the first lines of a plain text say of it, where they are written like the head of a mail or of minutes.
import { findDate } from '../text/dates.ts';

export interface TextHead {
  readonly subject: string | null;
  readonly date: Date | null;
  /** Somebody wrote it to somebody. */
  readonly isMail: boolean;
}

const known = /^(?:from|to|cc|date|sent|subject)$/i;
const line = /^([A-Za-z][A-Za-z -]{0,30}):[ \t]+(\S.*)$/;
const mostLines = 20;

const heading = /^\s*#{1,6}[ \t]+\S[^\n]*\n\s*/;

/**
 * Null unless the text begins with at least two lines `Name: value`, the first of a name that heads have. Below a
 * Markdown heading, which is its title, one such line is enough when it has a date.
 */
export function readTextHead(text: string): TextHead | null {
  const above = heading.exec(text)?.[0];
  if (above !== undefined) {
    const date = dateOf(fieldsOf(text.slice(above.length)).get('date') ?? '');
    return date === null ? null : { subject: null, date, isMail: false };
  }
  const fields = fieldsOf(text);
  if (fields.size < 2) return null;
  return {
    subject: fields.get('subject') ?? null,
    date: dateOf(fields.get('date') ?? fields.get('sent') ?? ''),
    isMail: fields.has('from') && fields.has('to'),
  };
}

/** What the first lines say, by names in lower case. */
function fieldsOf(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const each of text.split(/\r?\n/, mostLines)) {
    const [, name = '', value = ''] = line.exec(each) ?? [];
    if (name === '' || (fields.size === 0 && !known.test(name))) break;
    // The first counts: what follows may be quoted.
    const key = name.toLowerCase();
    if (!fields.has(key)) fields.set(key, value.trim());
  }
  return fields;
}

const timeWithZone = /\d:\d{2}.*(?:Z|UTC|GMT|[+-]\d{2}:?\d{2})/;

/** Without a zone only the day counts, at midnight UTC: the clock of this machine is not the writer's. */
function dateOf(words: string): Date | null {
  const moment = new Date(timeWithZone.test(words) ? words : '');
  return Number.isNaN(moment.getTime()) ? findDate(words, null) : moment;
}
