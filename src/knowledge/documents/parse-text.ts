// Parses the text of a document: title, date, structured mentions, all cleaned. Runs in a thread for long texts.
import { createHash } from 'node:crypto';
import { CoreError } from '../../core/errors.ts';
import type { IngestRequest, ArtifactType, ParsedDocument } from '../artifacts/types.ts';
import { KnowledgeError } from '../errors.ts';
import type { ContextClues, StructuredMention } from '../reading/types.ts';
import { truncate, withoutInvisible } from '../text/spans.ts';
import type { MailHead } from './headers.ts';
import { readMailHead, readTextHead } from './headers.ts';
import type { DataForm } from './json.ts';
import { readJsonDocument, unspecifiedRelation } from './json.ts';

/** The text of a file, with what its parser skipped. */
interface FileText {
  readonly name: string;
  readonly mediaType: string;
  readonly text: string;
  readonly warnings: readonly string[];
}

/** An ingest request whose file has been read. */
export type TextRequest = Omit<IngestRequest, 'content'> & {
  readonly content: { readonly text: string } | FileText;
};

export const maxTextLength = 5_000_000;
const maxTitleLength = 300;
/** It must fit into an index row of Postgres. */
export const maxSourceBytes = 2_000;

/** Fails with INPUT_INVALID or KNOWLEDGE_DOCUMENT_UNREADABLE. */
export function parseText(request: TextRequest): ParsedDocument {
  const { content } = request;
  const found = 'name' in content ? fromFile(content) : fromText(content.text);
  const text = checkedText(found.text);
  const { mentions, warnings, truncated } = cleanMentions([...found.mentions, ...(request.mentions ?? [])]);
  const title = cleanText(request.title ?? found.title ?? '').trim();
  return {
    type: request.type ?? found.type,
    sourceSystem: checkedName(request.sourceSystem ?? 'upload', 'source_system'),
    sourceId: checkedName(request.sourceId ?? found.sourceId, 'source_id'),
    title: truncate(title === '' ? firstLine(text) : title, maxTitleLength),
    text,
    sourceTs: request.sourceTs ?? found.sourceTs,
    metadata: {
      ...cleanMetadata(request.metadata ?? {}),
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
  // No id was given: the same text is the same artifact.
  const sourceId = `text:${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  const json = /^\s*[[{]/.test(text) ? readJsonDocument(text) : null;
  // Text that is not JSON may also begin with a bracket.
  if (json?.data === 'lines') return { ...nothingMore, ...json, type: 'doc', title: null, sourceId };
  return { ...nothingMore, text, type: 'note', title: headingOf(text), sourceId };
}

function fromFile(file: FileText): Found {
  const { text, warnings } = file;
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

/** Like the document parser: the declared media type decides, the file extension only without one. */
function kindOf({ name, mediaType }: FileText): 'mail' | 'json' | 'text' | 'other' {
  const declared = (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();
  const isUndeclared = declared === '' || declared.endsWith('/octet-stream');
  const ending = isUndeclared ? (/\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? 'txt') : '';
  if (declared === 'message/rfc822' || ending === 'eml') return 'mail';
  if (/[/+]json$|ndjson$/.test(declared) || ['json', 'jsonl', 'ndjson'].includes(ending)) return 'json';
  const isText =
    /^text\/(?!html)/.test(declared) || ['txt', 'text', 'md', 'markdown', 'log'].includes(ending);
  return isText ? 'text' : 'other';
}

/** The Markdown heading that the text begins with. */
const headingOf = (text: string): string | null => /^\s*#{1,6}[ \t]+(\S.*)/.exec(text)?.[1]?.trim() ?? null;

const firstLine = (text: string): string => truncate((text.trim().split('\n', 1)[0] ?? '').trim(), 80);

function checkedText(given: string): string {
  const text = cleanText(given);
  if (text.length > maxTextLength)
    throw invalid(
      `The document has ${text.length.toLocaleString('en')} characters; at most ${maxTextLength.toLocaleString('en')} are accepted. Split it.`,
    );
  if (isBinary(given))
    throw new KnowledgeError(
      'KNOWLEDGE_DOCUMENT_UNREADABLE',
      'The document cannot be read: it is binary, not text. Send the file itself, with its name and type.',
    );
  if (isBlank(text)) throw invalid('The document has no visible text. Send one with content.');
  return text;
}

/** Text has hardly any control characters. */
function isBinary(text: string): boolean {
  const head = text.slice(0, 8_192);
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const controlCount = head.match(/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]/g)?.length ?? 0;
  return controlCount > 8 && controlCount > head.length / 20;
}

function checkedName(given: string, field: string): string {
  const name = cleanText(given).trim();
  if (name !== '' && Buffer.byteLength(name) <= maxSourceBytes) return name;
  throw invalid(
    name === '' ? `${field} must not be empty.` : `${field} must have at most ${maxSourceBytes} bytes.`,
  );
}

export const invalid = (message: string): CoreError =>
  new CoreError('INPUT_INVALID', `Nothing was ingested. ${message}`);

/** They are resolved together, like a chunk of 10,000 names. */
const maxMentions = 10_000;
const longestName = 300;
const maxMetadataBytes = 65_536;
const maxMetadataDepth = 20;

/** The text without NUL, which Postgres rejects, and without lone surrogates. Offsets refer to this text. */
function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** Whether it has no visible character. */
export const isBlank = (text: string): boolean => !visible.test(text);
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Drops invisible names and mentions beyond the limit, each with a warning. */
export function cleanMentions(given: readonly StructuredMention[]): {
  readonly mentions: readonly StructuredMention[];
  readonly warnings: readonly string[];
  readonly truncated: number;
} {
  const seen = given.slice(0, maxMentions).flatMap((mention) => {
    const surfaceForm = withoutInvisible(mention.surfaceForm.toWellFormed()).trim().slice(0, longestName);
    return surfaceForm === '' ? [] : [{ ...mention, surfaceForm: surfaceForm.toWellFormed() }];
  });
  const empty = Math.min(given.length, maxMentions) - seen.length;
  return {
    mentions: withoutRepeats(seen),
    truncated: Math.max(0, given.length - maxMentions),
    warnings: [
      ...(empty > 0
        ? [`Omitted because they have no visible name: ${empty} of its structured mentions.`]
        : []),
      ...(given.length > maxMentions
        ? [`Only the first ${maxMentions} of its ${given.length} structured mentions were used.`]
        : []),
    ],
  };
}

/** One mention per person and relation; clues of the duplicates are merged. */
function withoutRepeats(given: readonly StructuredMention[]): readonly StructuredMention[] {
  return [...Map.groupBy(given, identityOf).values()].flatMap((same) => {
    const contextClues = same.reduceRight<ContextClues>(
      (clues, mention) => ({ ...clues, ...mention.contextClues }),
      {},
    );
    const specified = same.filter(({ relation }) => relation !== unspecifiedRelation);
    const byRelation = Map.groupBy(specified.length === 0 ? same : specified, ({ relation }) => relation);
    return [...byRelation.values()].flatMap(([mention]) => (mention ? [{ ...mention, contextClues }] : []));
  });
}

/** People are identified by their address, other entities by the source's identity. */
const identityOf = ({ surfaceForm, type, contextClues: { email, identity } }: StructuredMention): string =>
  JSON.stringify([
    surfaceForm.toLowerCase(),
    type,
    (type === 'person' ? email?.toLowerCase() : identity) ?? null,
  ]);

/** Metadata as JSON that jsonb accepts. Fails with INPUT_INVALID when it is too large or too deep. */
function cleanMetadata(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (isDeeper(given, maxMetadataDepth))
    throw invalid(`The metadata is nested more than ${maxMetadataDepth} levels deep.`);
  const text = JSON.stringify(given, withCleanNames);
  if (Buffer.byteLength(text) > maxMetadataBytes)
    throw invalid(`The metadata has more than ${maxMetadataBytes.toLocaleString('en')} bytes as JSON.`);
  // Reserved keys.
  const {
    mentions: _,
    data: __,
    mentions_truncated: ___,
    ...metadata
  } = JSON.parse(text) as Record<string, unknown>;
  return metadata;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function withCleanNames(_: string, value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [cleanText(key), each as unknown]));
}

/**
 * SHA-256 in hex of type, title, structured mentions and text; metadata and times do not count. A parser change that
 * alters any of them makes every stored document a new revision, which is read and billed again.
 */
export function contentHash({
  type,
  title,
  text,
  mentions,
}: Pick<ParsedDocument, 'type' | 'title' | 'text' | 'mentions'>): string {
  return createHash('sha256')
    .update(JSON.stringify([type, title, mentions]))
    .update('\n')
    .update(text)
    .digest('hex');
}
