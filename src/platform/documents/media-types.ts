// Media types that can be read, by their names and the endings of files.
import { extname } from 'node:path';
import type { DocumentFormat } from './ports.ts';

export const docxType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

interface KnownType {
  readonly format: DocumentFormat;
  readonly extensions: readonly string[];
}

const known: Readonly<Record<string, KnownType>> = {
  'text/plain': { format: 'text', extensions: ['.txt', '.text', '.log'] },
  'text/markdown': { format: 'text', extensions: ['.md', '.markdown'] },
  'text/csv': { format: 'text', extensions: ['.csv', '.tsv'] },
  'application/json': { format: 'text', extensions: ['.json', '.jsonl', '.ndjson'] },
  'application/xml': { format: 'text', extensions: ['.xml'] },
  'text/html': { format: 'html', extensions: ['.html', '.htm', '.xhtml'] },
  'application/pdf': { format: 'pdf', extensions: ['.pdf'] },
  [docxType]: { format: 'docx', extensions: ['.docx'] },
  'message/rfc822': { format: 'eml', extensions: ['.eml'] },
  'image/png': { format: 'image', extensions: ['.png'] },
  'image/jpeg': { format: 'image', extensions: ['.jpg', '.jpeg'] },
  'image/webp': { format: 'image', extensions: ['.webp'] },
  'image/gif': { format: 'image', extensions: ['.gif'] },
};

/** What browsers and mail programs say instead. */
const aliases: Readonly<Record<string, string>> = {
  'text/x-markdown': 'text/markdown',
  'application/csv': 'text/csv',
  'text/json': 'application/json',
  'application/x-ndjson': 'application/json',
  'text/xml': 'application/xml',
  'application/xhtml+xml': 'text/html',
  'application/x-pdf': 'application/pdf',
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
};

const byExtension = new Map(
  Object.entries(known).flatMap(([type, { extensions }]) => extensions.map((ending) => [ending, type])),
);

/** All that can be read, by their first names. Other text/* types are read as plain text. */
export const readableTypes: readonly string[] = Object.keys(known);

export function formatOf(mediaType: string): DocumentFormat | undefined {
  return Object.hasOwn(known, mediaType) ? known[mediaType]?.format : undefined;
}

export function typeByExtension(name: string): string | undefined {
  return byExtension.get(extname(name).toLowerCase());
}

/** Nobody said what it is. */
export function isUndeclared(mediaType: string): boolean {
  const essence = essenceOf(mediaType);
  return essence === '' || essence === 'application/octet-stream' || essence === 'binary/octet-stream';
}

/** The type's first name; what is not known stays as it is. */
export function canonicalType(mediaType: string): string {
  const essence = essenceOf(mediaType);
  const first = Object.hasOwn(aliases, essence) ? (aliases[essence] ?? essence) : essence;
  if (formatOf(first)) return first;
  if (first.endsWith('+json')) return 'application/json';
  if (first.endsWith('+xml') && !first.startsWith('image/')) return 'application/xml';
  return first.startsWith('text/') ? 'text/plain' : first;
}

/** The charset that a media type names. */
export function charsetOf(mediaType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mediaType)?.[1];
}

function essenceOf(mediaType: string): string {
  return (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();
}
