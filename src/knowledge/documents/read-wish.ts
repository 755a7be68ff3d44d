// What somebody brings, as an artifact ready to be taken in: read, titled, dated, cleaned.
import { createHash } from 'node:crypto';
import { CoreError } from '../../core/index.ts';
import type { IngestRequest } from '../desk-ports.ts';
import { KnowledgeError } from '../errors.ts';
import type { ArtifactType, ParsedDocument, StructuredMention } from '../ports.ts';
import { cleanMentions, cleanMetadata, cleanText, isBlank } from './clean-input.ts';
import type { DataForm } from './data-prose.ts';
import { readJsonDocument } from './json-document.ts';
import type { MailHead } from './mail-head.ts';
import { readMailHead } from './mail-head.ts';
import { readTextHead } from './text-head.ts';

export interface DocumentFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Reads files of strangers under limits. */
export interface DocumentReader {
  /** Fails with KNOWLEDGE_DOCUMENT_UNREADABLE, also for a picture. */
  read(
    file: DocumentFile,
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly warnings: readonly string[] }>;
}

export interface ParseDeps {
  readonly documents: DocumentReader;
  readonly maxDocumentBytes: number;
}

const longestText = 5_000_000;
const longestTitle = 300;
/** An index row of the store must hold it. */
const longestSourceBytes = 2_000;

/** Fails with INPUT_INVALID or KNOWLEDGE_DOCUMENT_UNREADABLE. */
export async function parseIngestRequest(
  parts: ParseDeps,
  wish: IngestRequest,
  signal: AbortSignal,
): Promise<ParsedDocument> {
  const { content } = wish;
  const size = 'text' in content ? Buffer.byteLength(content.text) : content.bytes.byteLength;
  if (size > parts.maxDocumentBytes)
    throw invalid(
      `The document has ${size.toLocaleString('en')} bytes; at most ${parts.maxDocumentBytes.toLocaleString('en')} are taken. Split it, or raise HEADWORKS_KNOWLEDGE_MAX_DOCUMENT_BYTES.`,
    );
  const found = 'text' in content ? fromText(content.text) : await fromFile(parts.documents, content, signal);
  const text = checkedText(found.text);
  const { mentions, warnings, truncated } = cleanMentions([...found.mentions, ...(wish.mentions ?? [])]);
  const title = cleanText(wish.title ?? found.title ?? '').trim();
  return {
    type: wish.type ?? found.type,
    sourceSystem: checkedName(wish.sourceSystem ?? 'upload', 'source_system'),
    sourceId: checkedName(wish.sourceId ?? found.sourceId, 'source_id'),
    title: cut(title === '' ? firstLine(text) : title, longestTitle),
    text,
    sourceTs: wish.sourceTs ?? found.sourceTs,
    metadata: {
      ...cleanMetadata(wish.metadata ?? {}),
      ...(found.data === null ? {} : { data: found.data }),
      ...(truncated === 0 ? {} : { mentions_truncated: truncated }),
    },
    warnings: [...found.warnings, ...warnings],
    mentions,
  };
}

interface Found {
  readonly text: string;
  readonly type: ArtifactType;
  readonly title: string | null;
  readonly sourceId: string;
  readonly sourceTs: Date | null;
  readonly warnings: readonly string[];
  readonly mentions: readonly StructuredMention[];
  readonly data: DataForm | null;
}

const nothingMore = { sourceTs: null, warnings: [], mentions: [], data: null } as const;

function fromText(text: string): Found {
  // Nobody named it: the same text is the same artifact.
  const sourceId = `text:${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  const json = /^\s*[[{]/.test(text) ? readJsonDocument(text) : null;
  // Other text may begin with a bracket, too.
  if (json?.data === 'lines') return { ...nothingMore, ...json, type: 'doc', title: null, sourceId };
  return { ...nothingMore, text, type: 'note', title: headingOf(text), sourceId };
}

async function fromFile(documents: DocumentReader, file: DocumentFile, signal: AbortSignal): Promise<Found> {
  const { text, warnings } = await documents.read(file, signal);
  const kind = kindOf(file);
  const mail: MailHead | null = kind === 'mail' ? readMailHead(text) : null;
  const head = mail ?? (kind === 'text' ? readTextHead(text) : null);
  const json = kind === 'json' ? readJsonDocument(text) : null;
  const name = file.name.split(/[/\\]/).at(-1) ?? '';
  return {
    text: json?.text ?? text,
    type: head?.isMail ? 'email' : kind === 'text' ? 'note' : 'doc',
    title: head?.subject ?? (kind === 'json' ? null : headingOf(text)) ?? name.replace(/\.[^.]{1,8}$/, ''),
    sourceId: file.name,
    sourceTs: head?.date ?? null,
    warnings: [...warnings, ...(json?.warnings ?? [])],
    mentions: mail?.mentions ?? json?.mentions ?? [],
    data: json?.data ?? null,
  };
}

/** As the document reader decides: what was declared counts, the ending only when nothing was. */
function kindOf({ name, mediaType }: DocumentFile): 'mail' | 'json' | 'text' | 'other' {
  const declared = (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const isUndeclared = declared === '' || declared.endsWith('/octet-stream');
  const ending = isUndeclared ? (/\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? 'txt') : '';
  if (declared === 'message/rfc822' || ending === 'eml') return 'mail';
  if (/[/+]json$|ndjson$/.test(declared) || ['json', 'jsonl', 'ndjson'].includes(ending)) return 'json';
  const isText =
    /^text\/(?!html)/.test(declared) || ['txt', 'text', 'md', 'markdown', 'log'].includes(ending);
  return isText ? 'text' : 'other';
}

/** The first Markdown heading, where the text begins with one. */
const headingOf = (text: string): string | null => /^\s*#{1,6}[ \t]+(\S.*)/.exec(text)?.[1]?.trim() ?? null;

const firstLine = (text: string): string => cut((text.trim().split('\n', 1)[0] ?? '').trim(), 80);

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;

function checkedText(given: string): string {
  const text = cleanText(given);
  if (text.length > longestText)
    throw invalid(
      `The document holds ${text.length.toLocaleString('en')} characters; at most ${longestText.toLocaleString('en')} are taken. Split it.`,
    );
  if (isBinary(given))
    throw new KnowledgeError(
      'KNOWLEDGE_DOCUMENT_UNREADABLE',
      'The document cannot be read: it is binary, not text. Send the file itself, with its name and type.',
    );
  if (isBlank(text)) throw invalid('The document shows no text. Send one with content.');
  return text;
}

/** Text has next to no control characters. */
function isBinary(text: string): boolean {
  const head = text.slice(0, 8_192);
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const strange = head.match(/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]/g)?.length ?? 0;
  return strange > 8 && strange > head.length / 20;
}

function checkedName(given: string, field: string): string {
  const name = cleanText(given).trim();
  if (name !== '' && Buffer.byteLength(name) <= longestSourceBytes) return name;
  throw invalid(
    name === '' ? `${field} must not be empty.` : `${field} must have at most ${longestSourceBytes} bytes.`,
  );
}

const invalid = (message: string): CoreError =>
  new CoreError('INPUT_INVALID', `Nothing was taken in. ${message}`);
