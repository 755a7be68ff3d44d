// What the parts of extraction say to each other: sources give raw pages, workers turn them into items, the vault keeps them.
import type { NamedSecret } from './sources/secrets.ts';

/** A path into JSON: `['query', 'id']`. Empty means the value itself. */
export type JsonPath = readonly string[];

/** Where an answer keeps its items, and an item its facts. Plain data: it travels to worker threads. */
export interface ItemShape {
  /** The array of items in the body; `single` means that the body is one item. */
  readonly items: { readonly kind: 'list'; readonly path: JsonPath } | { readonly kind: 'single' };
  /** Several paths make a composite id, joined with `::` (an explore is `model::explore`). */
  readonly id: readonly JsonPath[];
  /** Ids are unique within their parent only: the request's `childKey` comes first in the id (`7::3`). */
  readonly isIdWithinParent?: boolean;
  readonly name?: JsonPath;
  readonly owner?: JsonPath;
  readonly folder?: JsonPath;
  /** ISO 8601 text or epoch seconds/milliseconds; anything else is left empty, never replaced by now. */
  readonly createdAt?: JsonPath;
  readonly updatedAt?: JsonPath;
  /** Where the body says how to go on (cursor pagination). */
  readonly nextCursor?: JsonPath;
  /** Where the body says how many items there are in all. */
  readonly total?: JsonPath;
}

/**
 * How the pages of a type are found.
 * `offset`, `page`: by number; in parallel once a total is known, else one after the other until a short page.
 * `cursor`, `link`: each page names the next. `whole`: one call gives everything.
 */
export type Pagination = 'offset' | 'page' | 'cursor' | 'link' | 'whole';

/** One of the lists that feed a type: LookML dashboards beside dashboards, one per folder that was asked for. */
export interface Listing {
  /** Goes into its pages' requests and keys; empty for the one list of an ordinary type. */
  readonly name: string;
  /** Where its answers keep their items, if not as the type's `shape` says. */
  readonly shape?: ItemShape;
}

export interface ContentType {
  /** As users name it with --types: `dashboards`. */
  readonly name: string;
  /** The document's number for Looker's twelve; others are numbered by the vault from 101. */
  readonly number: number | null;
  /**
   * Of its listings. A type that hangs on another has none: there it is the pagination of each child's own list (`whole`:
   * one call per child). What is fetched one by one from a listing of its own (`self`) is always one call each.
   */
  readonly pagination: Pagination;
  /** The server gives exactly this many a page, whatever is asked: every `limit` must be this. Absent: any. */
  readonly pageSize?: number;
  /** Of the items that are stored. */
  readonly shape: ItemShape;
  /** Each is paged on its own; absent: one, without a name, of the type's shape. */
  readonly listings?: readonly Listing[];
  /**
   * Only this part of the type is asked for (`folders 12, 13`): another scope is another session, and what was not
   * seen is not marked deleted. Absent: everything.
   */
  readonly scope?: string;
  /**
   * Items of this type have an address each, told by the items of another type (explores by models), or by a listing
   * of their own (looks: the listing has no query). `children` is where the parent's item names them; `from` is
   * `self` for a listing whose items are fetched one by one and not stored themselves.
   */
  readonly parent?: {
    readonly from: string;
    /** An array of objects or names in the parent item; absent: the parent item itself is the one child. */
    readonly children?: JsonPath;
    /** What of the child (or of the parent item, where there is no `children`) goes into its address. */
    readonly key: JsonPath;
    /** What of the parent item goes into the address besides. */
    readonly parentKey?: JsonPath;
    /** Where the parent item says `false` if it has no children; otherwise a list that is not there is one that got lost. */
    readonly hasChildren?: JsonPath;
  };
}

/** One call. Its `key` is unique within the type and the same in every run that asks for the same thing. */
export type PageRequest = {
  readonly type: string;
  readonly key: string;
  /** Which of the type's listings; absent: the one without a name. */
  readonly listing?: string;
} & (
  | { readonly kind: 'offset'; readonly offset: number; readonly limit: number }
  /** `page` counts from 0; the source knows what its server calls the first. */
  | { readonly kind: 'page'; readonly page: number; readonly limit: number }
  /** `cursor` null is the first page; for `link` pagination it is the URL of the next page. */
  | {
      readonly kind: 'cursor';
      readonly cursor: string | null;
      readonly index: number;
      readonly limit: number;
    }
  | { readonly kind: 'whole' }
  /** `position` is absent where the type's pagination is `whole`, and for what is fetched one by one (`self`). */
  | {
      readonly kind: 'child';
      readonly childKey: string;
      readonly parentKey: string | null;
      readonly position?: ChildPosition;
    }
);

/** How far into a child's own list. Goes on while a page is full (`offset`, `page`) or names the next. */
export interface ChildPosition {
  /** 0 is the first page. */
  readonly index: number;
  /** What the page before named; null for the first, and for `offset` and `page`. */
  readonly cursor: string | null;
  readonly limit: number;
  /** Of the page's first item; absent: where full pages before it end. */
  readonly offset?: number;
}

/** An answer as it came. The main thread never looks into `bytes`. */
export interface RawPage {
  readonly request: PageRequest;
  readonly bytes: Uint8Array;
  /** X-Total-Count or the like, if the server sent it in a header. */
  readonly total: number | null;
  /** Link: rel="next", if the server sent it. */
  readonly nextLink: string | null;
}

export type OnConnectWait = (why: string, waitMs: number) => void;

/**
 * Where content comes from. It asks the rate limiter for leave before every call that it makes. One call of `fetch` is
 * one counted call of the API (a login that it needs, and asking again after it, are not).
 */
export interface Source {
  /** Names the source in the vault: `looker https://acme.looker.com`. No credentials. */
  readonly name: string;
  /** Final once `connect` has resolved: it may have to find out which listings there are. */
  readonly types: readonly ContentType[];
  /** For the shared rate limiter: `limiterKey(host, credential)`. */
  readonly limiterKey: string;
  /** What its answers may repeat in the addresses of next pages: such an address is kept with their names (`SecretMasker`). */
  readonly secrets?: readonly NamedSecret[];
  /**
   * Logs in or makes sure that somebody answers; fails with an ExtractionError that says which of the two. `onWait` is
   * told why and for how long before it waits for a server that is busy.
   */
  connect(signal: AbortSignal, onWait?: OnConnectWait): Promise<void>;
  /**
   * Fails with a FetchError, or with the limiter's error. Renews an expired token by itself and asks again, once.
   * `onSent` is called when a call permits.
   */
  fetch(request: PageRequest, signal: AbortSignal, onSent?: () => void): Promise<RawPage>;
  close(): Promise<void>;
}

/** An item as a worker read it. */
export interface ParsedItem {
  readonly id: string;
  readonly name: string | null;
  readonly owner: string | null;
  readonly folder: string | null;
  /** Epoch milliseconds. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** The item's own bytes within the page. */
  readonly raw: Uint8Array;
  /** First 64 bits of SHA-256 of `raw`, signed (SQLite has no unsigned integers). */
  readonly rawHash: bigint;
}

/** Something in a page that is no item: it goes to the dead letters with its cause, never under an invented id. */
export interface RejectedItem {
  /** `no-id`, `not-an-object`, `malformed`, … */
  readonly cause: string;
  readonly message: string;
  /** What was there, cut to a few kilobytes. */
  readonly raw: Uint8Array;
  /** Not the item, which is stored, but something that it names. */
  readonly isMember?: boolean;
}

export interface ParsedPage {
  readonly request: PageRequest;
  readonly items: readonly ParsedItem[];
  readonly rejected: readonly RejectedItem[];
  readonly nextCursor: string | null;
  readonly total: number | null;
  /** For each type that hangs on this one: what its items are asked by. */
  readonly children: readonly {
    readonly type: string;
    readonly childKey: string;
    readonly parentKey: string | null;
  }[];
}

/** What is kept of a page that is committed, and told the planner: the same in whichever order pages come. */
export interface PageResult {
  readonly request: PageRequest;
  readonly itemCount: number;
  readonly rejectedCount: number;
  /** How many of `rejectedCount` belong to items that were stored; absent: none. */
  readonly rejectedMembers?: number;
  readonly total: number | null;
  /** Cursor in the body or Link header. */
  readonly next: string | null;
  readonly children: ParsedPage['children'];
  /** What its first and its last item are known by; absent when it holds none. */
  readonly ends?: readonly [first: string, last: string];
}

/** What a page that was just committed did to the vault. */
export interface CommittedPage extends PageResult {
  readonly written: {
    readonly added: number;
    readonly changed: number;
    readonly unchanged: number;
    /** Items that the session had seen before; not in the other three. */
    readonly repeated: number;
  };
}

export type SessionStatus = 'running' | 'interrupted' | 'completed' | 'incomplete' | 'failed';
export type TypeStatus = 'pending' | 'running' | 'completed' | 'incomplete';

/** What a run asks of the vault: the same source and types again resume the session that is there. */
export interface SessionSpec {
  readonly source: string;
  readonly types: readonly ContentType[];
  /** Null when sequential (document 001). */
  readonly workerCount: number | null;
  /** Settings as given, without secrets. */
  readonly config: Readonly<Record<string, unknown>>;
  /** `true`: always a new session; `when-over`: unless the last has something left that was not asked for. */
  readonly fresh: boolean | 'when-over';
  readonly retryFailed: boolean;
}

/** What is known of a type when a session starts or goes on. */
export interface TypeProgress {
  readonly type: string;
  readonly status: TypeStatus;
  /** Pages that are committed, with what they told. */
  readonly done: readonly PageResult[];
  /** Different items that the session has seen. */
  readonly itemsSeen: number;
  /** Pages that were given up; with `retryFailed` they are forgotten, to be asked for again. */
  readonly failed: readonly PageRequest[];
}

export interface OpenSession {
  readonly id: string;
  readonly isResumed: boolean;
  /** Everything was there already: nothing has to be asked for. */
  readonly isComplete: boolean;
  /** Types of which somebody had removed rows: the session is a new one, and reads everything again. */
  readonly lost: readonly string[];
  /** Types that the session to go on with has in another form: the session is a new one, and reads everything. */
  readonly redefined: readonly string[];
  readonly progress: readonly TypeProgress[];
  /** As the runs before left them. */
  readonly totals: SessionTotals;
}

/** What one run adds to its session. */
export interface RunTotals {
  readonly calls: number;
  readonly errors: number;
  /** How long it worked. */
  readonly activeMs: number;
}

/** Of all runs of a session. Of a run that was killed, the time until the last page that it committed is known. */
export interface SessionTotals extends RunTotals {
  /** Different ones. */
  readonly items: number;
  /** Items by the time that its runs worked; null when there were none. */
  readonly throughputItemsPerSecond: number | null;
}

/** The main thread's side of the vault. Every method is one transaction. */
export interface VaultSessions {
  open(spec: SessionSpec): OpenSession;
  /** A page that will not come: a dead letter; its type can no longer become `completed`. */
  fail(sessionId: string, request: PageRequest, cause: string, message: string): void;
  /**
   * All pages of the type are committed or failed. If all came, no item was rejected and there are as many as the
   * source says, it is `completed`, and items of the type that this session did not see are marked deleted (unless only
   * a part was asked for); otherwise it is `incomplete` and nothing is marked.
   */
  finishType(sessionId: string, type: string, expectedTotal: number | null): TypeStatus;
  finish(sessionId: string, status: Exclude<SessionStatus, 'running'>, run: RunTotals): SessionTotals;
  /** How many items of the type the vault holds, whichever session brought them; not those that are deleted. */
  held(type: string): number;
}

/** A worker thread's side: its own connection, `BEGIN IMMEDIATE`. Items, versions and the page's mark commit together. */
export interface PageWriter {
  write(
    sessionId: string,
    page: ParsedPage,
    header: { readonly total: number | null; readonly nextLink: string | null },
  ): CommittedPage;
  close(): void;
}

// How the pages of each type are read: plain data that travels to worker threads.

/** How the children of a type are named by the items of another (or by its own listing). */
export interface ChildRule {
  readonly type: string;
  readonly children?: JsonPath;
  readonly key: JsonPath;
  readonly parentKey?: JsonPath;
  readonly hasChildren?: JsonPath;
}

export interface PageFormat {
  readonly shape: ItemShape;
  /** Of the type's listings that have a shape of their own, by name. */
  readonly listingShapes: Readonly<Record<string, ItemShape>>;
  /** Set when the type's pages only list what is fetched one by one: their items are not stored. */
  readonly listing: ChildRule | null;
  /** Of other types. */
  readonly children: readonly ChildRule[];
}

/** How to read the pages of every type, by name. */
export function pageFormats(types: readonly ContentType[]): Readonly<Record<string, PageFormat>> {
  return Object.fromEntries(
    types.map((type) => [
      type.name,
      {
        shape: type.shape,
        listingShapes: Object.fromEntries(
          (type.listings ?? []).flatMap(({ name, shape }) => (shape ? [[name, shape]] : [])),
        ),
        listing: type.parent?.from === 'self' ? (rulesOf(type)[0] ?? null) : null,
        children: types.filter(({ parent }) => parent?.from === type.name).flatMap(rulesOf),
      },
    ]),
  );
}

function rulesOf({ name, parent }: ContentType): readonly ChildRule[] {
  if (parent === undefined) return [];
  const { children, key, parentKey, hasChildren } = parent;
  return [
    {
      type: name,
      key,
      ...(children === undefined ? {} : { children }),
      ...(parentKey === undefined ? {} : { parentKey }),
      ...(hasChildren === undefined ? {} : { hasChildren }),
    },
  ];
}
