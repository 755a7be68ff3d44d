// What can be wrong with a request before any domain sees it.
import type { ErrorCodes } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

/** Each code with its consequence. */
export const httpErrorCodes = {
  HTTP_HOST_NOT_ALLOWED: {
    category: 'forbidden',
    consequence: 'The Host header names a host that we are not known as; nothing was done.',
  },
  HTTP_ORIGIN_NOT_ALLOWED: {
    category: 'forbidden',
    consequence: 'A web page of another origin sent the request; nothing was done.',
  },
  HTTP_METHOD_NOT_ALLOWED: {
    category: 'invalid_input',
    consequence: 'The path exists, but not with this method; nothing was done.',
  },
  HTTP_BODY_TOO_LARGE: {
    category: 'too_large',
    consequence: 'The request body is larger than we read; nothing was done.',
  },
  HTTP_CONTENT_TYPE_UNSUPPORTED: {
    category: 'invalid_input',
    consequence: 'The request body is not of a type we read; nothing was done.',
  },
  HTTP_REQUEST_TOO_SLOW: {
    category: 'request_timeout',
    consequence: 'The request did not arrive completely in time; nothing was done.',
  },
  HTTP_HEADERS_TOO_LARGE: {
    category: 'too_large',
    consequence: 'The request line or headers are larger than we read; nothing was done.',
  },
  HTTP_TOO_MANY_STREAMS: {
    category: 'temporary',
    consequence: 'As many streams are open as we serve at once; ask again later.',
  },
} as const satisfies ErrorCodes;

export type HttpErrorCode = keyof typeof httpErrorCodes;

export class HttpError extends HeadworksError<HttpErrorCode> {}
