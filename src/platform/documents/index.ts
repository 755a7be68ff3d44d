// Documents of strangers, as text or pictures.
export { contradictionOf } from './decide-type.ts';
export { Documents } from './documents.ts';
export type { DocumentsOptions } from './documents.ts';
export { shownName, UnreadableDocument } from './ports.ts';
export type { DocumentContent, DocumentFile } from './ports.ts';
