// Documents as they arrive, and their content.

export interface DocumentFile {
  readonly name: string;
  /** As declared; empty or application/octet-stream when nobody said. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** What a document says, as text, or as a picture for models that see. */
export type DocumentContent =
  | { readonly kind: 'text'; readonly text: string; readonly warnings: readonly string[] }
  | { readonly kind: 'image'; readonly dataUrl: string };

/** How a document is read. */
export type DocumentFormat = 'text' | 'html' | 'pdf' | 'docx' | 'eml' | 'image';

/** A document that cannot be read, whoever tries: its message names the file, why, and what to do. Not worth a retry. */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';

  constructor(fileName: string, problem: string, cause?: unknown) {
    super(
      `The file "${shownName(fileName)}" cannot be read: ${problem}`,
      cause === undefined ? undefined : { cause },
    );
  }
}

const longestName = 100;

/** A file's name as it can be shown: without control characters, not too long. */
export function shownName(name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '');
  return clean.length > longestName ? `${clean.slice(0, longestName)}…` : clean;
}

export type Parsed =
  | { readonly text: string; readonly warnings: readonly string[] }
  /** A clause that follows "the file …": why it cannot be read, and what to do. */
  | { readonly problem: string };
