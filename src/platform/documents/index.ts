// Documents of strangers, as text or pictures.
export { contradictionOf } from './media-types.ts';
export { Documents } from './documents.ts';
export type { DocumentsOptions } from './documents.ts';
export { shownName, UnreadableDocument } from './types.ts';
export type { DocumentContent, DocumentFile } from './types.ts';
