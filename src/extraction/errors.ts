// Errors of extraction, each with its consequence.
import type { HttpFailureClass } from '../resilience/index.ts';
import type { ErrorCodes } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

export const extractionErrorCodes = {
  EXTRACTION_SOURCE_INVALID: {
    category: 'invalid_input',
    consequence: 'The source definition is invalid; no call was made and nothing was written.',
  },
  EXTRACTION_UNREACHABLE: {
    category: 'unreachable',
    consequence: 'The source does not respond, or is another kind of server; nothing was written.',
  },
  EXTRACTION_UNAUTHENTICATED: {
    category: 'unreachable',
    consequence: 'The source rejects the credentials; nothing was written.',
  },
  EXTRACTION_VAULT_OF_OTHER_SOURCE: {
    category: 'conflict',
    consequence: 'The vault belongs to another source; it was not changed.',
  },
  EXTRACTION_BUSY: {
    category: 'conflict',
    consequence: 'Another extraction writes to this vault; it was not affected.',
  },
  EXTRACTION_ITEM_UNKNOWN: { category: 'not_found', consequence: 'The vault has no such item.' },
} as const satisfies ErrorCodes;

export type ExtractionErrorCode = keyof typeof extractionErrorCodes;

export class ExtractionError extends HeadworksError<ExtractionErrorCode> {}

/** The request of a page failed. `failure` has its kind, which decides about a retry. */
export class FetchError extends Error {
  override readonly name = 'FetchError';
  readonly failure: HttpFailureClass;

  constructor(failure: HttpFailureClass, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}
