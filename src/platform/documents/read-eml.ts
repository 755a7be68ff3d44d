// A mail as text: who wrote whom, when, about what, and what it says.
import PostalMime from 'postal-mime';
import type { Address } from 'postal-mime';
import type { Parsed } from './parsed.ts';
import { htmlToText } from './read-html.ts';

/** Of all attachments together, in characters. */
const longestNames = 300;

export async function readEml(bytes: Uint8Array): Promise<Parsed> {
  const mail = await PostalMime.parse(bytes);
  if (mail.headers.length === 0)
    return { problem: 'it has no headers, so it is no mail. Send it with its true type.' };
  const written = mail.text?.trim() ?? '';
  const body = written === '' && mail.html !== undefined ? htmlToText(mail.html) : written;
  const head = [
    ['From', mail.from ? peopleOf([mail.from]) : ''],
    ['To', peopleOf(mail.to ?? [])],
    ['Cc', peopleOf(mail.cc ?? [])],
    ['Date', mail.date ?? ''],
    ['Subject', mail.subject ?? ''],
  ].filter(([, value]) => value !== '');
  const { attachments } = mail;
  const names = attachments
    .map(({ filename }) => filename ?? 'unnamed')
    .join(', ')
    .replaceAll(/\p{Cc}/gu, '')
    .slice(0, longestNames)
    // The cut may go through a character.
    .toWellFormed();
  return {
    text: [...head.map(([name, value]) => `${name}: ${value}`), '', body].join('\n').trim(),
    warnings:
      attachments.length === 0
        ? []
        : [`Its attachments were not read (${names}); send them as files of their own.`],
  };
}

function peopleOf(addresses: readonly Address[]): string {
  return addresses
    .flatMap((each) => each.group ?? [each])
    .map(({ name, address }) => (name === '' ? (address ?? '') : `${name} <${address ?? ''}>`))
    .join(', ');
}
