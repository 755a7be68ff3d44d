// The thread in which JSON schemas are compiled and run.
import { serveThread } from '../threads/serve-thread.ts';
import { problemOf, violations } from './compile-schema.ts';

const functions = { problemOf, violations } as const;
export type SchemaFunctions = typeof functions;

serveThread(functions);
