// An HTTP source as data: loaded from a file, or built in (Looker). Secrets are filled in.
import type { ContentType, NamedSecret } from '../../types.ts';
import type { SourceLabels } from '../connect.ts';
import type { HttpResponse } from '../http-client.ts';
import type { AuthDescription, PaginationDescription } from './schema.ts';

export interface EndpointDescription {
  /** Starts with a slash. Placeholders like `{parent.id}` are filled from `ListRef.parents`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly pagination: PaginationDescription;
  /** The header with the total number of items, in lower case. */
  readonly totalHeader: string | null;
}

export interface TypeDescription {
  readonly type: ContentType;
  /** By the name of the type's endpoint. */
  readonly endpoints: Readonly<Record<string, EndpointDescription>>;
}

/** Gets a URL of the source, authenticated and within the rate limit. */
export type GetJson = (url: URL, signal: AbortSignal) => Promise<HttpResponse>;

export interface SourceDescription {
  /** Identifies the source in the vault. */
  readonly name: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** For messages. */
  readonly labels: SourceLabels;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: AuthDescription;
  readonly types: readonly TypeDescription[];
  /** Replaces the types once the source is connected (Looker's --folder). Fails with a FetchError or ExtractionError. */
  readonly narrowTypes?: (get: GetJson, signal: AbortSignal) => Promise<readonly TypeDescription[]>;
  /** Values from the environment that must not appear anywhere. */
  readonly secrets: readonly NamedSecret[];
  /** Identifies the rate limiter: `limiterKey(host, credential)`. */
  readonly limiterKey: string;
}
