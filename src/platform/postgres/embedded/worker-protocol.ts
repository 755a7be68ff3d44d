// What the main thread and the PGlite worker say to each other. Everything here survives a structured clone.
import type { Command } from '../store.ts';
import type { PgliteOutcome } from './pglite-command.ts';

export interface WorkerSettings {
  /** Where the files are; `undefined` keeps everything in memory. */
  readonly folder: string | undefined;
  readonly schema: string;
  /** Load Apache AGE, an optional package, if it is installed. */
  readonly withAge: boolean;
  /** Channels to listen to from the start: those of the worker before. */
  readonly channels: readonly string[];
}

export type ToWorker =
  | { readonly kind: 'run'; readonly id: number; readonly command: Command }
  | { readonly kind: 'close' };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly message: string }
  | ({ readonly kind: 'outcome'; readonly id: number } & PgliteOutcome)
  | { readonly kind: 'notification'; readonly channel: string; readonly payload: string };
