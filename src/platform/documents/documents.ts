// Reads documents of many kinds as text or as pictures. What needs parsing is parsed in threads under limits.
import { isUtf8 } from 'node:buffer';
import type { Clock } from '../../core/index.ts';
import { threadModule } from '../threads/thread-module.ts';
import { ThreadPool } from '../threads/thread-pool.ts';
import { ThreadStopped, ThreadThrew } from '../threads/pooled-thread.ts';
import { charsetOf, contradictionOf, decideType, readableTypes } from './media-types.ts';
import type { DocumentFunctions } from './document-thread.ts';
import type { DocumentContent, DocumentFile, Parsed } from './media-types.ts';
import { UnreadableDocument } from './media-types.ts';

export interface DocumentsOptions {
  readonly clock: Clock;
  /** Of one document, in time of the processor. */
  readonly timeoutMs?: number;
  /** For one document while it is parsed. */
  readonly memoryMb?: number;
  /** Longest text that a document may become. */
  readonly maxCharacters?: number;
  /** False: pictures are refused, with what can be read instead. */
  readonly takesPictures?: boolean;
}

const usualTimeoutMs = 30_000;
const usualMemoryMb = 512;
/** Some 1.2 million tokens: beyond every model of today. */
const usualCharacters = 5_000_000;

export class Documents {
  /** The media types it reads; other text/* types are read as plain text. */
  readonly mediaTypes = readableTypes;
  readonly #pool: ThreadPool<DocumentFunctions>;
  readonly #timeoutMs: number;
  readonly #memoryMb: number;
  readonly #maxCharacters: number;
  readonly #takesPictures: boolean;

  constructor(options: DocumentsOptions) {
    this.#timeoutMs = options.timeoutMs ?? usualTimeoutMs;
    this.#memoryMb = options.memoryMb ?? usualMemoryMb;
    this.#maxCharacters = options.maxCharacters ?? usualCharacters;
    this.#takesPictures = options.takesPictures ?? true;
    this.#pool = new ThreadPool({
      entry: threadModule('./document-thread', import.meta.url),
      clock: options.clock,
      memoryMb: this.#memoryMb,
    });
  }

  /** Why it cannot be what it is declared to be, or cannot be read at all, judged by its first bytes; else null. */
  contradiction(file: DocumentFile): string | null {
    return contradictionOf(file, this.#takesPictures);
  }

  /** Fails with UnreadableDocument, or with the signal's reason. */
  async read(file: DocumentFile, signal: AbortSignal): Promise<DocumentContent> {
    signal.throwIfAborted();
    const decided = decideType(file, this.#takesPictures);
    if ('problem' in decided) throw new UnreadableDocument(file.name, decided.problem);
    const { mediaType, format } = decided;
    if (format === 'image')
      return { kind: 'image', dataUrl: `data:${mediaType};base64,${base64Of(file.bytes)}` };
    const parsed = await this.#parse(file, format, mediaType, signal);
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
    signal: AbortSignal,
  ): Promise<Parsed> {
    const limits = { timeoutMs: this.#timeoutMs, signal };
    const looksInside = format === 'html' || mediaType === 'application/xml';
    try {
      if (format === 'text' || format === 'html') {
        const decoded = decodeText(file.bytes, { charset: charsetOf(file.mediaType), looksInside });
        if (format === 'text' || decoded.text.length > this.#maxCharacters * htmlPerText) return decoded;
        const parsed = await this.#pool.run('html', decoded.text, limits);
        return 'problem' in parsed ? parsed : { ...parsed, warnings: decoded.warnings };
      }
      // A copy of its own is handed over: the file's bytes may be a part of something larger.
      const bytes = new Uint8Array(file.bytes);
      return await this.#pool.run(format, bytes, { ...limits, transfer: [bytes.buffer] });
    } catch (error) {
      throw this.#explained(file.name, error);
    }
  }

  #checked(name: string, { text, warnings }: Exclude<Parsed, { problem: string }>): DocumentContent {
    const clean = text.replaceAll('\0', '').trim();
    if (clean === '') throw new UnreadableDocument(name, 'it holds no text. Send a file with content.');
    if (clean.length > this.#maxCharacters)
      throw new UnreadableDocument(
        name,
        `it holds more than ${this.#maxCharacters.toLocaleString('en')} characters. Split it.`,
      );
    return { kind: 'text', text: clean, warnings };
  }

  #explained(name: string, error: unknown): unknown {
    if (error instanceof ThreadThrew)
      return new UnreadableDocument(name, 'it is damaged, or not what it claims to be. Save it anew.', error);
    if (!(error instanceof ThreadStopped)) return error;
    const problem = {
      time: `reading it took longer than ${this.#timeoutMs / 1_000} s. Split it, or send it as text.`,
      memory: `reading it took more than ${this.#memoryMb} MB of memory. Split it, or send it as text.`,
      died: 'its reader broke down over it. Save it anew, or send it as text.',
    }[error.reason];
    return new UnreadableDocument(name, problem, error);
  }
}

/** A page has much more markup than text; beyond this it is too long whatever comes out. */
const htmlPerText = 10;

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

export interface DecodedText {
  readonly text: string;
  readonly warnings: readonly string[];
}

/** How far a page or an XML file may name its own encoding. */
const declarationWithin = 1_024;

/** `charset` as declared from outside; without one, HTML and XML may name their own (`looksInside`). Never fails. */
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
    warnings: ['It is not UTF-8 and names no encoding that is known: read as Windows-1252 (Latin-1).'],
  };
}

function markedEncoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined;
}

function encodingInside(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, declarationWithin));
  return /(?:encoding|charset)\s*=\s*["']?([\w:.-]+)/i.exec(head.toString('latin1'))?.[1];
}

/** It is not UTF-8, whatever it says. */
function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    const decoder = new TextDecoder(label);
    return decoder.encoding === 'utf-8' ? undefined : decoder;
  } catch {
    return undefined;
  }
}
