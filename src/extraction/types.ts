// The types of extraction: sources return raw pages, worker threads parse them into items, the vault stores them.

/** A path into JSON: `['query', 'id']`. Empty means the value itself. */
export type JsonPath = readonly string[];

/** Where a response keeps its items, and an item its fields. Plain data: it is sent to worker threads. */
export interface ItemShape {
  /** The array of items in the body; `single` means that the body is one item. */
  readonly items: { readonly kind: 'list'; readonly path: JsonPath } | { readonly kind: 'single' };
  /** Several paths make a composite id, joined with `::` (an explore is `model::explore`). See `encodeId`. */
  readonly id: readonly JsonPath[];
  /** Ids are unique within their parent only: the parent's first key is prepended to the id (`7::3`). */
  readonly isIdWithinParent?: boolean;
  readonly name?: JsonPath;
  readonly owner?: JsonPath;
  readonly folder?: JsonPath;
  /** ISO 8601 text or epoch seconds/milliseconds; anything else is stored as null. */
  readonly createdAt?: JsonPath;
  readonly updatedAt?: JsonPath;
  /** Where the body has the cursor of the next page. */
  readonly nextCursor?: JsonPath;
  /** Where the body has the total number of items. */
  readonly total?: JsonPath;
  /** What stands for an empty list: `null`, or nothing at its path. Absent: neither. */
  readonly emptyLists?: readonly ('null' | 'missing')[];
}

/**
 * How the pages of a list are requested.
 * `offset`, `page`: by number; in parallel once a total is known, else one after the other until the list ends.
 * `cursor`, `link`: each page names the next. `single`: one request returns everything.
 */
export type Pagination = 'offset' | 'page' | 'cursor' | 'link' | 'single';

/** One address of a content type: LookML dashboards beside dashboards, or one list per folder. */
export interface Endpoint {
  /** Part of requests and page keys; empty for the only endpoint of a type. */
  readonly name: string;
  readonly pagination: Pagination;
  /** The server returns exactly this many items per page, whatever is requested. Absent: any number. */
  readonly pageSize?: number;
  /** Where its responses keep their items, if not as in the type's `shape`. */
  readonly shape?: ItemShape;
  /** Its items are not stored: they only name the items that are then requested one by one. */
  readonly isListingOnly?: boolean;
}

/** How the items of a type name the lists of another type (explores of models), or of the same type (looks). */
export interface ParentRule {
  /** The type whose items name the lists; the type itself for items that are requested one by one. */
  readonly type: string;
  /** An array of objects or names in the parent item; absent: the parent item itself names one list. */
  readonly itemsAt?: JsonPath;
  /** By placeholder name: values of the array element, or of the parent item without `itemsAt`. The first one is the id. */
  readonly keys: Readonly<Record<string, JsonPath>>;
  /** By placeholder name: further values of the parent item. */
  readonly parentKeys?: Readonly<Record<string, JsonPath>>;
  /** Where the parent item is `false` if it has no children; otherwise a missing array is an error. */
  readonly hasChildrenAt?: JsonPath;
}

export interface ContentType {
  /** As in --types: `dashboards`. */
  readonly name: string;
  /** Document 001's number for Looker's twelve types; others are numbered by the vault from 101. */
  readonly number: number | null;
  /** With a parent type each of its items has its own list at the endpoint. */
  readonly endpoints: readonly Endpoint[];
  /** Shape of the stored items. */
  readonly shape: ItemShape;
  readonly parent?: ParentRule;
  /**
   * Only this part of the type is requested (`folders 12, 13`): another scope is another session, and missing items are
   * not marked deleted. Absent: everything.
   */
  readonly scope?: string;
}

/** One list of a source. `parents` is empty for a root list; otherwise the values of the address's placeholders. */
export interface ListRef {
  readonly type: string;
  readonly endpoint: string;
  readonly parents: readonly Readonly<Record<string, string>>[];
}

export type PagePosition =
  | { readonly kind: 'single' }
  | { readonly kind: 'offset'; readonly offset: number; readonly limit: number }
  /** `page` counts from 0; the source adds the number of the server's first page. */
  | { readonly kind: 'page'; readonly page: number; readonly limit: number }
  /** `cursor` null is the first page; for `link` it is the URL of the next page. */
  | {
      readonly kind: 'cursor';
      readonly cursor: string | null;
      readonly index: number;
      readonly limit: number;
    };

/** One call. Its `key` is unique within the type and the same in every run that requests the same page. */
export interface PageRequest {
  readonly key: string;
  readonly list: ListRef;
  readonly position: PagePosition;
}

/** A response as received. The main thread does not parse `bytes`. */
export interface RawPage {
  readonly request: PageRequest;
  readonly bytes: Uint8Array;
  /** X-Total-Count or the like, if the server sent it in a header. */
  readonly total: number | null;
  /** Link: rel="next", if the server sent it. */
  readonly nextLink: string | null;
  /** It stands for no items, whatever its bytes: no content, or not found (`isNotFound`). */
  readonly isEmpty?: boolean;
  readonly isNotFound?: boolean;
}

/** A secret by the name of its environment variable. */
export interface NamedSecret {
  readonly name: string;
  readonly value: string;
}

export type OnConnectWait = (reason: string, waitMs: number) => void;

/**
 * A system that content is extracted from. It acquires a permit of the rate limiter before every call. One `fetch` is
 * one counted call of the API (a login, and the repetition after it, are not counted).
 */
export interface Source {
  /** Identifies the source in the vault: `looker https://acme.looker.com`. No credentials. */
  readonly name: string;
  /** Final once `connect` has resolved, which may have to look up the endpoints. */
  readonly types: readonly ContentType[];
  /** Secrets that responses may repeat in the addresses of next pages; stored addresses contain their names. */
  readonly secrets?: readonly NamedSecret[];
  /**
   * Logs in, or checks that the server responds; fails with an ExtractionError that names which of the two failed.
   * `onWait` is called with the reason before each wait for a busy server. A source without a login requests `first`, the
   * page that is fetched first, to find out; that page is then not requested again.
   */
  connect(signal: AbortSignal, onWait?: OnConnectWait, first?: PageRequest): Promise<void>;
  /**
   * Fails with a FetchError, or with the limiter's error. Renews an expired token and repeats the call, once. `onSent`
   * is called when a call is written to a connection.
   */
  fetch(request: PageRequest, signal: AbortSignal, onSent?: () => void): Promise<RawPage>;
  close(): Promise<void>;
}

export interface ParsedItem {
  readonly id: string;
  /** Bit n: part n of the id is a number. The ids 1 and "1" have the same text. */
  readonly idKinds: number;
  readonly name: string | null;
  readonly owner: string | null;
  readonly folder: string | null;
  /** Epoch milliseconds. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** The item's own bytes: a view into the page's reused buffer. */
  readonly raw: Uint8Array;
  /** First 64 bits of SHA-256 of `raw`, signed (SQLite has no unsigned integers). */
  readonly rawHash: bigint;
}

/** A part of a page that is not an item: stored as a dead letter with its cause, never under an invented id. */
export interface RejectedItem {
  /** `no-id`, `not-an-object`, `malformed`, … */
  readonly cause: string;
  readonly message: string;
  /** The original bytes, cut to a few kilobytes. */
  readonly raw: Uint8Array;
}

export interface ParsedPage {
  readonly request: PageRequest;
  readonly items: readonly ParsedItem[];
  readonly rejected: readonly RejectedItem[];
  readonly nextCursor: string | null;
  readonly total: number | null;
  /** The lists that its items name. */
  readonly children: readonly ListRef[];
  /** As in PageResult. */
  readonly elements: readonly number[];
  readonly hasNoList?: boolean;
}

/** What is stored of a committed page and passed to the planner: independent of the order of pages. */
export interface PageResult {
  readonly request: PageRequest;
  readonly itemCount: number;
  readonly rejectedCount: number;
  readonly total: number | null;
  /** Cursor in the body, or Link header. */
  readonly next: string | null;
  readonly children: readonly ListRef[];
  /** Hashes of the ids of all elements of its list, stored or not, in order: how many of a list are distinct. */
  readonly elements: readonly number[];
  /** The source returned 404 or 410: the item, or the parent of the list, does not exist any more. */
  readonly isNotFound?: boolean;
  /** The response stands for no items without being an empty list: 404, 410, 204, `null`. Alone it proves no end. */
  readonly hasNoList?: boolean;
}

/** The effect of a page on the vault. */
export interface CommittedPage extends PageResult {
  readonly written: {
    readonly added: number;
    readonly changed: number;
    readonly unchanged: number;
    /** Items that the session had seen before; not in the other three. */
    readonly repeated: number;
  };
}

/**
 * Why a list is known to have ended (guarantee T1).
 * `empty-page`: the page after the last one is empty. `no-next`: the last page names no next page. `total`: the last page is
 * not full, and as many distinct items arrived as the source reports. `single`: the list has one page. `not-found`: the two
 * pages after the last one return 404 or 410, which an outage does too, so that absent items are not deleted (T2).
 * `unproven`: the end is not known, or fewer items arrived than the source reports.
 */
export type EndOfList =
  | { readonly by: 'total' | 'no-next' | 'empty-page' | 'not-found' | 'single' }
  | { readonly by: 'unproven'; readonly reason: string };

/** How many lists of a type ended by which evidence. */
export type EndCounts = Readonly<Partial<Record<EndOfList['by'], number>>>;

/** A parent rule as the parent's pages are parsed with it: it names lists of this type at this endpoint. */
export interface ChildRule extends ParentRule {
  readonly endpoint: string;
}

/**
 * `incomplete`: it ended, and pages or items are missing; they are listed and can be requested again. Not `degraded`, which is
 * repaired automatically. `interrupted`: the next run resumes it. Not `canceled`, which ends for good.
 */
export type SessionState = 'running' | 'interrupted' | 'completed' | 'incomplete' | 'failed';
export type TypeState = 'queued' | 'running' | 'completed' | 'incomplete';

export type RunOrigin = 'schedule' | 'http' | 'cli';

/** `queued`: its job has not started. `interrupted`: stopped, or it stopped reporting. */
export type RunState = 'queued' | SessionState;

/** What a run requests of the vault: the same source and types again resume the existing session. */
export interface SessionSpec {
  readonly source: string;
  readonly types: readonly ContentType[];
  /** Null when sequential (document 001). */
  readonly workerCount: number | null;
  /** Settings as given, without secrets. */
  readonly config: Readonly<Record<string, unknown>>;
  /** `true`: always a new session; `when-finished`: only if the last session has nothing left to request. */
  readonly fresh: boolean | 'when-finished';
  readonly retryFailed: boolean;
}

/** What is known of a type when a session starts or resumes. */
export interface TypeProgress {
  readonly type: string;
  readonly state: TypeState;
  /** Committed pages. */
  readonly done: readonly PageResult[];
  /** Distinct items that the session has seen. */
  readonly itemsSeen: number;
  /** Failed pages; with `retryFailed` they are dropped, to be requested again. */
  readonly failed: readonly PageRequest[];
}

export interface OpenSession {
  readonly id: string;
  readonly isResumed: boolean;
  /** The session was complete before: nothing has to be requested. */
  readonly isComplete: boolean;
  /** Types with rows removed from the file: the session is new and reads everything again. */
  readonly lost: readonly string[];
  /** Types whose definition differs from the session to resume: the session is new and reads everything. */
  readonly changedTypes: readonly string[];
  readonly progress: readonly TypeProgress[];
  /** As the previous runs left them. */
  readonly totals: SessionTotals;
}

/** What one run adds to its session. */
export interface RunTotals {
  readonly calls: number;
  readonly errors: number;
  readonly activeMs: number;
}

/** Totals of all runs of a session. For a killed run, the time until its last committed page counts. */
export interface SessionTotals extends RunTotals {
  /** Distinct items. */
  readonly items: number;
  /** Null without items. */
  readonly throughputItemsPerSecond: number | null;
}

/** How a type ended, according to the planner. */
export interface TypeEnd {
  /** The total that the source reports; null when unknown. */
  readonly expectedTotal: number | null;
  readonly ends: EndCounts;
  /** The source returned 404 or 410 for every item or list below its parents: probably their address is wrong. */
  readonly areAllGone?: boolean;
  /** Its items are requested one by one, by their ids. */
  readonly isRequestedById?: boolean;
}

/** The main thread's side of the vault. Every method is one transaction. */
export interface VaultSessions {
  open(spec: SessionSpec): OpenSession;
  /** Records a failed page as a dead letter; its type can no longer become `completed`. */
  fail(sessionId: string, request: PageRequest, cause: string, message: string): void;
  /**
   * All pages of the type are committed or failed. If every list's end is proven, no page failed, no item was rejected
   * and there are as many items as the source counts, it is `completed`; otherwise it is `incomplete`. Marked deleted (T2)
   * are items that neither this nor the previous completed session of the whole type saw, unless a list ended by
   * `not-found`, and items that were requested by their id and do not exist any more.
   */
  finishType(sessionId: string, type: string, end: TypeEnd): TypeState;
  finish(sessionId: string, status: Exclude<SessionState, 'running'>, run: RunTotals): SessionTotals;
  /** The number of stored items of the type, from any session, without deleted ones. */
  countItems(type: string): number;
}
