// What the main thread and the worker threads say to each other. Everything here is cloned, but for the bytes of pages.
import type { NamedSecret } from '../concealer.ts';
import type { FailedPageCause } from '../events.ts';
import type { PageReading } from '../parsing/page-reading.ts';
import type { PageOutcome, PageRequest } from '../ports.ts';

/** Given to a thread when it starts. */
export interface ThreadSettings {
  readonly vaultPath: string;
  /** `Vault.turn`. */
  readonly turn: SharedArrayBuffer;
  readonly readings: Readonly<Record<string, PageReading>>;
  /** `Source.secrets`. */
  readonly secrets?: readonly NamedSecret[];
}

export interface PageWork {
  readonly kind: 'page';
  readonly sessionId: string;
  readonly request: PageRequest;
  /** The main thread's: not to be changed, nor looked at after the answer. */
  readonly bytes: Uint8Array;
  readonly total: number | null;
  readonly nextLink: string | null;
}

export type ToThread = PageWork | { readonly kind: 'close' };

export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'committed'; readonly outcome: PageOutcome }
  /** The page is not what was asked for; nothing was written. */
  | { readonly kind: 'refused'; readonly cause: FailedPageCause; readonly message: string }
  /** The vault cannot be written to: nothing can go on. */
  | { readonly kind: 'unwritable'; readonly code: string; readonly message: string };
