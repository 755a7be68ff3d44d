// What the head of a mail says: who wrote it to whom, when, about what.
import type { StructuredMention } from '../ports.ts';
import type { TextHead } from './text-head.ts';

export interface MailHead extends TextHead {
  readonly mentions: readonly StructuredMention[];
}

const relations: Readonly<Record<string, string>> = { from: 'author', to: 'recipient', cc: 'recipient' };

/** Of a mail as the document reader writes it: lines `Name: value` up to the first blank one. */
export function readMailHead(text: string): MailHead {
  const head = text.split(/\n\s*\n/, 1)[0] ?? '';
  const fields = new Map(
    head.split('\n').flatMap((line) => {
      const [, name, value] = /^(From|To|Cc|Date|Subject): (.*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name.toLowerCase(), value.trim()] as const];
    }),
  );
  const date = new Date(fields.get('date') ?? '');
  const mentions = Object.entries(relations).flatMap(([field, relation]) =>
    peopleOf(fields.get(field) ?? '').map((person) => ({ ...person, relation })),
  );
  return {
    subject: fields.get('subject') ?? null,
    date: Number.isNaN(date.getTime()) ? null : date,
    isMail: true,
    mentions,
  };
}

/** A bare address, or a name (which may hold commas) with an address. */
const person = /([^,<>\s]+@[^,<>\s]+)(?:,\s*|$)|(.*?)\s*<([^<>]*)>(?:,\s*|$)/g;

function peopleOf(field: string): readonly Omit<StructuredMention, 'relation'>[] {
  return [...field.matchAll(person)].flatMap(([, bare, name = '', address = '']) => {
    const email = (bare ?? address).trim().toLowerCase();
    const shown = name.trim().replace(/^["']|["']$/g, '');
    const surfaceForm = shown === '' ? email : shown;
    return surfaceForm === ''
      ? []
      : [{ surfaceForm, type: 'person' as const, contextClues: email === '' ? {} : { email } }];
  });
}
