// What a thread makes of a document.

export type Parsed =
  | { readonly text: string; readonly warnings: readonly string[] }
  /** A clause that follows "the file …": why it cannot be read, and what to do. */
  | { readonly problem: string };
