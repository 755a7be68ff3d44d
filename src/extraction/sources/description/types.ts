// An HTTP source as data: loaded from a file, or built in (Looker). Secrets are filled in.
import type { ContentType, JsonPath, NamedSecret } from '../../types.ts';
import type { SourceLabels } from '../connect.ts';
import type { HttpResponse } from '../http-client.ts';

/** How calls are authenticated. */
export type AuthDescription =
  | { readonly type: 'none' }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly type: 'token';
      /** A path below the base URL, or an absolute URL. */
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly tokenPath: JsonPath;
      readonly expiresInPath: JsonPath | null;
      /** The header that carries the token, and the text before it. */
      readonly header: string;
      readonly prefix: string;
      /** Does a rejected login mean wrong credentials? `body` is undefined unless it was a JSON object. */
      readonly isCredentialError: (
        status: number,
        body: Readonly<Record<string, unknown>> | undefined,
      ) => boolean;
    };

/** The query parameters of pages. */
export type PaginationDescription =
  | { readonly type: 'none' }
  | {
      readonly type: 'offset';
      readonly offsetParam: string;
      readonly limitParam: string | null;
      /** The server's number of the first item. */
      readonly start: number;
    }
  | {
      readonly type: 'page';
      readonly pageParam: string;
      readonly sizeParam: string | null;
      /** The server's number of the first page. */
      readonly start: number;
    }
  /** `cursorParam` null: the cursor is the URL of the next page. */
  | { readonly type: 'cursor'; readonly cursorParam: string | null; readonly sizeParam: string | null }
  | { readonly type: 'link'; readonly sizeParam: string | null };

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
