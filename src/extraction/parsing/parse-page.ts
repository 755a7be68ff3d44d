// Turns the raw bytes of a page into items, rejects and what the planner needs. Runs in worker threads.
import { isUtf8 } from 'node:buffer';
import { messageOf } from '../../core/index.ts';
import type {
  ChildRule,
  ItemShape,
  JsonPath,
  PageFormat,
  PageRequest,
  ParsedItem,
  ParsedPage,
  RejectedItem,
} from '../types.ts';
import { contentHash } from '../vault/page-writer.ts';
import type { ItemFacts } from './json-reader.ts';
import { FactFinder } from './json-reader.ts';
import {
  countOf,
  instantOf,
  JsonScanError,
  UnexpectedShapeError,
  skipSpace,
  skipValue,
  textOf,
  valueAt,
  walkList,
} from './json.ts';

type Refusal = 'malformed' | 'unexpected-shape';

/** A whole page that is not what was asked for: nothing of it is stored. */
export class PageRejectedError extends Error {
  override readonly name = 'PageRejectedError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal, message: string) {
    super(message);
    this.refusal = refusal;
  }
}

/** Parses a page. Throws PageRejectedError when it is no JSON or not the shape asked for; single items are only rejected. */
export function parsePage(request: PageRequest, bytes: Uint8Array, reading: PageFormat): ParsedPage {
  if (bytes.length === 0) throw new PageRejectedError('malformed', 'The answer is empty.');
  if (!isUtf8(bytes)) throw new PageRejectedError('malformed', 'The answer is not UTF-8 text.');
  const ofListing = request.kind === 'child' ? undefined : reading.listingShapes[request.listing ?? ''];
  const shape = ofListing ?? reading.shape;
  const page = new PageBuilder(request, bytes, shape, reading);
  const { items, rejected, children } = page;
  if (shape.items.kind === 'single') {
    page.takeOnly();
    return { request, items, rejected, children, nextCursor: null, total: null };
  }
  const envelope = walked(bytes, shape.items.path, page);
  const at = (path: ItemShape['total']) => (path === undefined ? undefined : valueAt(envelope, path));
  const nextCursor = textOf(at(shape.nextCursor));
  return { request, items, rejected, children, nextCursor, total: countOf(at(shape.total)) };
}

function walked(bytes: Uint8Array, path: readonly string[], page: PageBuilder): unknown {
  try {
    return walkList(bytes, path, (start) => page.take(start)).envelope;
  } catch (error) {
    if (error instanceof UnexpectedShapeError && isJson(bytes))
      throw new PageRejectedError(
        'unexpected-shape',
        `The answer is not what was asked for: ${error.message}.`,
      );
    throw new PageRejectedError('malformed', `The answer is not valid JSON: ${messageOf(error)}.`);
  }
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(bytes).toString());
    return true;
  } catch {
    return false;
  }
}

class PageBuilder {
  readonly items: ParsedItem[] = [];
  readonly rejected: RejectedItem[] = [];
  readonly children: { type: string; childKey: string; parentKey: string | null }[] = [];
  readonly #bytes: Uint8Array;
  readonly #shape: ItemShape;
  readonly #rules: readonly ChildRule[];
  readonly #finder: FactFinder;
  /** Its elements only say what to ask for, and are not stored. */
  readonly #isListing: boolean;
  /** What goes before ids that are unique within their parent only. */
  readonly #parentId: string | null;

  constructor(request: PageRequest, bytes: Uint8Array, shape: ItemShape, { listing, children }: PageFormat) {
    this.#bytes = bytes;
    this.#shape = shape;
    this.#isListing = listing !== null && request.kind !== 'child';
    this.#rules = this.#isListing && listing ? [listing] : children;
    this.#finder = new FactFinder(shape, this.#rules);
    this.#parentId = request.kind === 'child' ? request.childKey : null;
  }

  /** Takes the element that starts here, and says where it ends. One that is no JSON spoils only itself. */
  take(start: number): number {
    try {
      const { end, facts } = this.#finder.find(this.#bytes, start);
      this.#add(facts);
      return end;
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error;
      const end = skipValue(this.#bytes, start);
      const raw = this.#bytes.subarray(start, end);
      this.rejected.push(reject(raw, 'malformed', `The item is not valid JSON: ${error.message}.`));
      return end;
    }
  }

  /** Takes the whole body, without the space around it: that is no part of its content. */
  takeOnly(): void {
    try {
      const { end, facts } = this.#finder.find(this.#bytes, skipSpace(this.#bytes, 0));
      if (skipSpace(this.#bytes, end) < this.#bytes.length) throw new JsonScanError('it goes on', end);
      this.#add(facts);
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error;
      throw new PageRejectedError('malformed', `The answer is not valid JSON: ${error.message}.`);
    }
  }

  #add(facts: ItemFacts): void {
    if (this.#isListing) {
      if (isObject(facts.raw)) for (const rule of this.#rules) this.#addChildren(facts, rule);
      else this.rejected.push(notAnObject(facts.raw));
      return;
    }
    const read = readItem(facts, this.#shape, this.#parentId);
    if ('rejected' in read) {
      this.rejected.push(read.rejected);
      return;
    }
    this.items.push(read.item);
    for (const rule of this.#rules) this.#addChildren(facts, rule);
  }

  #addChildren(facts: ItemFacts, rule: ChildRule): void {
    const { type, children, key } = rule;
    const parentKey = rule.parentKey === undefined ? null : textOf(facts.value(rule.parentKey));
    const isNamed = rule.parentKey === undefined || parentKey !== null;
    const childKeys = childKeysIn(facts, rule);
    if (childKeys === null)
      this.#rejectMember(
        facts,
        'no-list',
        `Its "${children?.join('.')}", which names its ${type}, is no list.`,
      );
    for (const childKey of childKeys ?? []) {
      if (childKey !== null && isNamed) this.children.push({ type, childKey, parentKey });
      else {
        const what = [...(children ?? []), ...key].join('.');
        this.#rejectMember(facts, 'no-id', `It names a member of ${type} without "${what}".`);
      }
    }
  }

  #rejectMember({ raw }: ItemFacts, cause: string, message: string): void {
    const rejected = reject(raw, cause, message);
    this.rejected.push(this.#isListing ? rejected : { ...rejected, isMember: true });
  }
}

/** What the item's children are asked by; null in it for a child that does not say, null altogether for no list. */
function childKeysIn(facts: ItemFacts, rule: ChildRule): readonly (string | null)[] | null {
  const { children, key, hasChildren } = rule;
  if (children === undefined) return [textOf(facts.value(key))];
  const named = facts.value(children);
  if (Array.isArray(named))
    return (named as unknown[]).map((child) =>
      textOf(typeof child === 'object' ? valueAt(child, key) : child),
    );
  const isWithout = hasChildren !== undefined && facts.value(hasChildren) === false;
  return isWithout && (named === undefined || named === null) ? [] : null;
}

// Turns the facts of one item into an item, or says why it is none.

const idSeparator = '::';
/** Of what is rejected only the beginning is kept. */
const keptBytes = 4_096;
const openObject = 0x7b;

/** Reads an item. Its bytes stay a view of the page's. `parentId` is what it hangs on, if on anything. */
export function readItem(
  facts: ItemFacts,
  shape: ItemShape,
  parentId: string | null,
): { readonly item: ParsedItem } | { readonly rejected: RejectedItem } {
  const { raw } = facts;
  if (!isObject(raw)) return { rejected: notAnObject(raw) };
  const id = readId(facts, shape.id);
  if ('cause' in id) return { rejected: reject(raw, id.cause, id.message) };
  const at = (path: JsonPath | undefined) => (path === undefined ? undefined : facts.value(path));
  const isWithinParent = shape.isIdWithinParent === true && parentId !== null;
  const item: ParsedItem = {
    id: isWithinParent ? `${parentId}${idSeparator}${id.id}` : id.id,
    name: textOf(at(shape.name)),
    owner: textOf(at(shape.owner)),
    folder: textOf(at(shape.folder)),
    createdAt: instantOf(at(shape.createdAt)),
    updatedAt: instantOf(at(shape.updatedAt)),
    raw,
    rawHash: contentHash(raw),
  };
  return { item };
}

export const isObject = (raw: Uint8Array): boolean => raw[0] === openObject;

export const notAnObject = (raw: Uint8Array): RejectedItem =>
  reject(raw, 'not-an-object', 'The item is no JSON object.');

export function reject(raw: Uint8Array, cause: string, message: string): RejectedItem {
  return { cause, message, raw: raw.subarray(0, keptBytes) };
}

/** Joins the parts of a composite id. A part must be text or a number: nothing else names an item. */
function readId(
  facts: ItemFacts,
  paths: readonly JsonPath[],
): { readonly id: string } | { readonly cause: string; readonly message: string } {
  const parts: string[] = [];
  for (const path of paths) {
    const value = facts.value(path);
    const name = path.join('.');
    if (value === undefined || value === null || value === '')
      return { cause: 'no-id', message: `The item has no "${name}", which is its id.` };
    if (typeof value === 'string') parts.push(value);
    // Past 2^53 digits get lost, and two ids would become one: those are taken as they are written.
    else if (typeof value === 'number')
      parts.push(Number.isSafeInteger(value) ? String(value) : facts.written(path));
    else return { cause: 'bad-id', message: `The item's id "${name}" is neither text nor a number.` };
  }
  return { id: parts.join(idSeparator) };
}
