// A REST source as its file defines it, checked and with its secrets filled in.
import type { ItemShape, JsonPath } from '../../types.ts';
import type { NamedSecret } from '../secrets.ts';

/** How calls prove who asks. `variables` are the names of the environment variables it came from, for messages. */
export type RestAuth =
  | { readonly type: 'none' }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly type: 'token';
      /** A path on the base URL, or an address of its own. */
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly tokenPath: JsonPath;
      readonly expiresInPath: JsonPath | null;
      /** The header that carries the token, and what stands before it. */
      readonly header: string;
      readonly prefix: string;
    };

export type RestPagination =
  | { readonly type: 'none' }
  | {
      readonly type: 'offset';
      readonly offsetParam: string;
      readonly limitParam: string | null;
      /** What the server calls the first item. */
      readonly start: number;
    }
  | {
      readonly type: 'page';
      readonly pageParam: string;
      readonly sizeParam: string | null;
      /** What the server calls the first page. */
      readonly start: number;
    }
  /** `cursorParam` null: the cursor is the address of the next page. */
  | { readonly type: 'cursor'; readonly cursorParam: string | null; readonly sizeParam: string | null }
  | { readonly type: 'link'; readonly sizeParam: string | null };

export interface RestResource {
  readonly name: string;
  /** Starts with a slash. Gaps are filled from `keys`. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly pagination: RestPagination;
  readonly pageSize: number | null;
  readonly shape: ItemShape;
  /** The header that tells how many items there are. */
  readonly totalHeader: string | null;
  readonly parent: RestParent | null;
}

export interface RestParent {
  readonly resource: string;
  readonly children: JsonPath | null;
  /** The gap that the child's key fills (`parent.id`, `child.name`), and where that key is. */
  readonly key: { readonly gap: string; readonly path: JsonPath };
  /** A second gap, filled from the parent. */
  readonly parentKey: { readonly gap: string; readonly path: JsonPath } | null;
}

export interface RestSourceDefinition {
  readonly name: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** As people and the vault may see it. */
  readonly publicUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: RestAuth;
  readonly resources: readonly RestResource[];
  /** Values that came from the environment and must be seen nowhere. */
  readonly secrets: readonly NamedSecret[];
  /** Names of the variables that hold the credentials, for messages. */
  readonly credentialVariables: readonly string[];
  /** As messages name it. */
  readonly file: string;
}
