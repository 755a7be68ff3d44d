// The thread in which documents of strangers are parsed. Parsers are loaded at first need.
import { serveThread } from '../threads/serve-thread.ts';
import type { Parsed } from './parsed.ts';

const functions = {
  html: async (html: string): Promise<Parsed> => ({
    text: (await import('./read-html.ts')).htmlToText(html),
    warnings: [],
  }),
  pdf: async (bytes: Uint8Array): Promise<Parsed> => (await import('./read-pdf.ts')).readPdf(bytes),
  docx: async (bytes: Uint8Array): Promise<Parsed> => (await import('./read-docx.ts')).readDocx(bytes),
  eml: async (bytes: Uint8Array): Promise<Parsed> => (await import('./read-eml.ts')).readEml(bytes),
} as const;
export type DocumentFunctions = typeof functions;

serveThread(functions);
