// What can be wrong with a request before any domain sees it.
import { HeadworksError } from '../core/index.ts';

/** Each code with its consequence. */
export const httpErrorCodes = {
  HTTP_HOST_NOT_ALLOWED: 'The Host header names a host that we are not known as; nothing was done.',
  HTTP_ORIGIN_NOT_ALLOWED: 'A web page of another origin sent the request; nothing was done.',
  HTTP_METHOD_NOT_ALLOWED: 'The path exists, but not with this method; nothing was done.',
  HTTP_BODY_TOO_LARGE: 'The request body is larger than we read; nothing was done.',
  HTTP_CONTENT_TYPE_UNSUPPORTED: 'The request body is not of a type we read; nothing was done.',
  HTTP_REQUEST_TOO_SLOW: 'The request did not arrive completely in time; nothing was done.',
  HTTP_HEADERS_TOO_LARGE: 'The request line or headers are larger than we read; nothing was done.',
  HTTP_TOO_MANY_STREAMS: 'As many streams are open as we serve at once; ask again later.',
} as const;

export type HttpErrorCode = keyof typeof httpErrorCodes;

export class HttpError extends HeadworksError<HttpErrorCode> {}
