// Reads documents as text or as images. Parsers run in threads with limits.
import { isUtf8 } from 'node:buffer';
import type { Clock } from '../../core/index.ts';
import { threadModule, ThreadPool } from '../threads/thread-pool.ts';
import { ThreadStopped, ThreadThrew } from '../threads/pooled-thread.ts';
import { charsetOf, contradictionOf, decideType, readableTypes } from './media-types.ts';
import type { DocumentFunctions } from './document-thread.ts';
import type { DocumentContent, DocumentFile, Parsed } from './media-types.ts';
import { UnreadableDocument } from './media-types.ts';

export interface DocumentsOptions {
  readonly clock: Clock;
  /** CPU time for one document. */
  readonly timeoutMs?: number;
  /** Memory for parsing one document. */
  readonly memoryMb?: number;
  /** Maximum length of the text. */
  readonly maxCharacters?: number;
  /** False: images are rejected. */
  readonly acceptsImages?: boolean;
}

const defaults = {
  timeoutMs: 30_000,
  memoryMb: 512,
  /** About 1.2 million tokens, more than any model accepts. */
  maxCharacters: 5_000_000,
  acceptsImages: true,
};

export class Documents {
  /** The media types it reads; other text/* types are read as plain text. */
  readonly mediaTypes = readableTypes;
  readonly #pool: ThreadPool<DocumentFunctions>;
  readonly #options: Required<DocumentsOptions>;

  constructor(options: DocumentsOptions) {
    this.#options = { ...defaults, ...options };
    const { clock, memoryMb } = this.#options;
    this.#pool = new ThreadPool({
      entry: threadModule('./document-thread', import.meta.url),
      clock,
      memoryMb,
    });
  }

  /** Why the file cannot be read, or is not of its declared type, from its first bytes; else null. */
  contradiction(file: DocumentFile): string | null {
    return contradictionOf(file, this.#options.acceptsImages);
  }

  /**
   * Fails with UnreadableDocument, or with the signal's reason. `group`: the owner of the document; owners take turns in
   * the threads.
   */
  async read(file: DocumentFile, signal: AbortSignal, group?: string): Promise<DocumentContent> {
    signal.throwIfAborted();
    const decided = decideType(file, this.#options.acceptsImages);
    if ('problem' in decided) throw new UnreadableDocument(file.name, decided.problem);
    const { mediaType, format } = decided;
    if (format === 'image')
      return { kind: 'image', dataUrl: `data:${mediaType};base64,${base64Of(file.bytes)}` };
    const parsed = await this.#parse(file, format, mediaType, { signal, group });
    if ('problem' in parsed) throw new UnreadableDocument(file.name, parsed.problem);
    return this.#checked(file.name, parsed);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #parse(
    file: DocumentFile,
    format: 'text' | 'html' | 'pdf' | 'docx' | 'eml',
    mediaType: string,
    work: { readonly signal: AbortSignal; readonly group: string | undefined },
  ): Promise<Parsed> {
    const limits = { timeoutMs: this.#options.timeoutMs, ...work };
    const looksInside = format === 'html' || mediaType === 'application/xml';
    try {
      if (format === 'text' || format === 'html') {
        const decoded = decodeText(file.bytes, { charset: charsetOf(file.mediaType), looksInside });
        if (format === 'text' || decoded.text.length > this.#options.maxCharacters * maxHtmlPerText)
          return decoded;
        const parsed = await this.#pool.run('html', decoded.text, limits);
        return 'problem' in parsed ? parsed : { ...parsed, warnings: decoded.warnings };
      }
      // A copy is transferred: the bytes may be part of a larger buffer.
      const bytes = new Uint8Array(file.bytes);
      return await this.#pool.run(format, bytes, { ...limits, transfer: [bytes.buffer] });
    } catch (error) {
      throw this.#explained(file.name, error);
    }
  }

  #checked(name: string, { text, warnings }: Exclude<Parsed, { problem: string }>): DocumentContent {
    const clean = text.replaceAll('\0', '').trim();
    if (clean === '') throw new UnreadableDocument(name, 'it has no text. Send a file with content.');
    if (clean.length > this.#options.maxCharacters)
      throw new UnreadableDocument(
        name,
        `it has more than ${this.#options.maxCharacters.toLocaleString('en')} characters. Split it.`,
      );
    return { kind: 'text', text: clean, warnings };
  }

  #explained(name: string, error: unknown): unknown {
    if (error instanceof ThreadThrew)
      return new UnreadableDocument(
        name,
        'it is damaged, or not of its declared type. Save it again.',
        error,
      );
    if (!(error instanceof ThreadStopped)) return error;
    const problem = {
      time: `reading it took longer than ${this.#options.timeoutMs / 1_000} s. Split it, or send it as text.`,
      memory: `reading it took more than ${this.#options.memoryMb} MB of memory. Split it, or send it as text.`,
      died: 'its parser crashed. Save it again, or send it as text.',
    }[error.reason];
    return new UnreadableDocument(name, problem, error);
  }
}

/** HTML has more markup than text; beyond this factor its text is too long in any case. */
const maxHtmlPerText = 10;

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

export interface DecodedText {
  readonly text: string;
  readonly warnings: readonly string[];
}

/** HTML and XML declare their encoding within the first bytes. */
const maxDeclarationBytes = 1_024;

/**
 * Decodes by byte order mark, UTF-8, declared charset, or the declaration inside HTML and XML (`looksInside`). Never
 * fails.
 */
export function decodeText(
  bytes: Uint8Array,
  { charset, looksInside = false }: { readonly charset?: string | undefined; readonly looksInside?: boolean },
): DecodedText {
  const marked = markedEncoding(bytes);
  if (marked !== undefined) return { text: new TextDecoder(marked).decode(bytes), warnings: [] };
  if (isUtf8(bytes)) return { text: new TextDecoder().decode(bytes), warnings: [] };
  const named = charset ?? (looksInside ? encodingInside(bytes) : undefined);
  const decoder = named === undefined ? undefined : decoderFor(named);
  if (decoder) return { text: decoder.decode(bytes), warnings: [] };
  return {
    text: new TextDecoder('windows-1252').decode(bytes),
    warnings: ['It is not UTF-8 and declares no known encoding: read as Windows-1252 (Latin-1).'],
  };
}

function markedEncoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined;
}

function encodingInside(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, maxDeclarationBytes));
  return /(?:encoding|charset)\s*=\s*["']?([\w:.-]+)/i.exec(head.toString('latin1'))?.[1];
}

/** The bytes are not UTF-8, even if that is declared. */
function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    const decoder = new TextDecoder(label);
    return decoder.encoding === 'utf-8' ? undefined : decoder;
  } catch {
    return undefined;
  }
}
