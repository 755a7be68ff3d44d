// Responses in Looker's format, and the faults that replace them.
import { Chance, textHash } from '../chance.ts';
import type { Listing } from './content.ts';
import type { FieldProblem, ListingQuery } from './requests.ts';
import type {
  FaultName,
  PermanentFailure,
  RetryAfterStyle,
  SimulatedType,
  SimulatorBehavior,
} from './types.ts';
import { faultNames } from './types.ts';

export interface ApiResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const documentationUrl = 'https://cloud.google.com/looker/docs/';

const messages: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Requires authentication.',
  403: 'Forbidden',
  404: 'Not found',
  422: 'Validation Failed',
  429: 'Too many requests',
  500: 'An error has occurred.',
  503: 'Service unavailable',
};

export const json = (value: unknown, status = 200): ApiResponse => ({
  status,
  body: Buffer.from(JSON.stringify(value)),
});

export const failed = (status: number): ApiResponse =>
  json({ message: messages[status] ?? 'Failed', documentation_url: documentationUrl }, status);

export const invalid = (problems: readonly FieldProblem[]): ApiResponse =>
  json(
    {
      message: messages[422],
      errors: problems.map((problem) => ({ ...problem, documentation_url: documentationUrl })),
      documentation_url: documentationUrl,
    },
    422,
  );

export function rateLimited(waitMs: number, style: RetryAfterStyle, now: number): ApiResponse {
  return { ...failed(429), headers: retryAfter(waitMs, style, now) };
}

function retryAfter(waitMs: number, style: RetryAfterStyle, now: number): Readonly<Record<string, string>> {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  switch (style) {
    case 'seconds':
      return { 'retry-after': String(seconds) };
    case 'date':
      return { 'retry-after': new Date(Math.ceil((now + waitMs) / 1_000) * 1_000).toUTCString() };
    case 'milliseconds':
      return { 'retry-after-ms': String(Math.ceil(waitMs)) };
    default:
      return {};
  }
}

/** A page with its headers; calls without a limit get none. */
export function pageResponse(
  listing: Listing,
  query: ListingQuery,
  place: { readonly url: string; readonly hasTotal: boolean },
): ApiResponse {
  const { bytes: body, total, limit } = listing;
  if (limit === null) return { status: 200, body };
  const links = linksOf(query, total, limit, place.url);
  return {
    status: 200,
    body,
    headers: {
      ...(place.hasTotal ? { 'x-total-count': String(total) } : {}),
      ...(links === '' ? {} : { link: links }),
    },
  };
}

function linksOf({ offset, parameters }: ListingQuery, total: number, limit: number, url: string): string {
  const link = (to: number, relation: string): string => {
    const changed = new URLSearchParams(parameters);
    for (const name of ['page', 'per_page']) changed.delete(name);
    changed.set('limit', String(limit));
    changed.set('offset', String(to));
    return `<${url}?${changed.toString()}>; rel="${relation}"`;
  };
  return [
    link(0, 'first'),
    ...(offset > 0 ? [link(Math.max(offset - limit, 0), 'prev')] : []),
    ...(offset + limit < total ? [link(offset + limit, 'next')] : []),
  ].join(', ');
}

/* ---- malformed bodies ---- */

/** Kinds 0 to 3 of a malformed body with status 200: half of it, a web page, plain text, JSON of another shape. */
export const malformedKinds = 4;

export function malformed(right: ApiResponse, kind: number, isList: boolean): ApiResponse {
  if (kind === 1)
    return { ...right, ...as('text/html', '<!DOCTYPE html><html><body>Sign in to continue</body></html>') };
  if (kind === 2) return { ...right, ...as('text/plain', 'An internal error occurred. Please try again.') };
  if (kind === 3 && isList)
    return {
      ...right,
      ...as('application/json', '{"message":"An error has occurred.","documentation_url":""}'),
    };
  return { ...right, body: right.body.subarray(0, right.body.length >> 1) };

  function as(type: string, text: string): Pick<ApiResponse, 'body' | 'headers'> {
    return {
      body: Buffer.from(text),
      headers: { ...right.headers, 'content-type': `${type}; charset=utf-8` },
    };
  }
}

/** The response without the named fields of its item, or of its first item; with `put`, they are null instead. */
export function without(right: ApiResponse, names: readonly string[], put?: null): ApiResponse {
  if (right.status !== 200) return right;
  const body = JSON.parse(right.body.toString('utf8')) as unknown;
  const item: unknown = Array.isArray(body) ? body[0] : body;
  if (typeof item !== 'object' || item === null) return right;
  for (const name of names)
    if (put === null && name in item) Object.assign(item, { [name]: null });
    else Reflect.deleteProperty(item, name);
  return { ...right, body: Buffer.from(JSON.stringify(body)) };
}

/* ---- which fault affects a call: by the seed, the address, and the number of earlier calls to it ---- */

export interface Fault {
  /** For a login, without the prefix `login-`. */
  readonly name: FaultName;
  readonly ms: number;
  /** 0 to 3: for faults that come in several kinds. */
  readonly kind: number;
}

const loginPrefix = 'login-';
const isLoginFault = (name: FaultName): boolean => name.startsWith(loginPrefix);

const defaultMs = 1_000;

export class Faults {
  readonly #seed: number;
  readonly #attempts = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The fault of this content call, if it has one. The n-th call of an address always has the same. */
  of(address: string, settings: SimulatorBehavior['faults']): Fault | null {
    return this.#draw(address, settings, (name) => !isLoginFault(name));
  }

  ofLogin(settings: SimulatorBehavior['faults']): Fault | null {
    const fault = this.#draw('/login', settings, isLoginFault);
    return fault && { ...fault, name: fault.name.slice(loginPrefix.length) as FaultName };
  }

  #draw(
    address: string,
    settings: SimulatorBehavior['faults'],
    isEligible: (name: FaultName) => boolean,
  ): Fault | null {
    const attempt = this.#attempts.get(address) ?? 0;
    this.#attempts.set(address, attempt + 1);
    const chance = new Chance(this.#seed, textHash(address), attempt);
    // Every fault draws, so that one more setting does not change what the others do.
    const drawn = faultNames.filter((name) => chance.hits(settings[name]?.probability ?? 0));
    const name = drawn.find(isEligible);
    const kind = chance.below(malformedKinds);
    return name === undefined ? null : { name, ms: settings[name]?.ms ?? defaultMs, kind };
  }
}

export interface CallTarget {
  readonly type: SimulatedType;
  readonly query?: ListingQuery;
  readonly id?: string;
}

/** The permanent failure configured for this call. */
export function permanentFailure(
  { type, query, id }: CallTarget,
  failures: readonly PermanentFailure[],
): PermanentFailure | undefined {
  return failures.find((failure) => {
    if (failure.type !== type) return false;
    if (query === undefined) return failure.id !== undefined && failure.id === id;
    if (failure.offset === undefined) return false;
    const end = query.limit === null ? Number.POSITIVE_INFINITY : query.offset + query.limit;
    return failure.offset >= query.offset && failure.offset < end;
  });
}
