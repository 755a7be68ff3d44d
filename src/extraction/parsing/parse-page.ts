// Parses the raw bytes of a page into items, rejected parts and what the planner needs. Runs in worker threads.
import { isUtf8 } from 'node:buffer';
import { messageOf } from '../../core/index.ts';
import { isNamed } from '../pipeline/paginator.ts';
import type {
  ChildRule,
  ContentType,
  ItemShape,
  JsonPath,
  ListRef,
  PageRequest,
  ParsedItem,
  ParsedPage,
  RejectedItem,
} from '../types.ts';
import { contentHash } from '../vault/page-writer.ts';
import type { ItemFields } from './json-reader.ts';
import { FieldReader } from './json-reader.ts';
import {
  countOf,
  instantOf,
  JsonScanError,
  parseBody,
  skipSpace,
  skipValue,
  textOf,
  UnexpectedShapeError,
  valueAt,
  walkList,
} from './json.ts';

type RejectionCause = 'malformed' | 'unexpected-shape';

/** A whole page is not what was requested: nothing of it is stored. */
export class PageRejectedError extends Error {
  override readonly name = 'PageRejectedError';
  readonly rejection: RejectionCause;

  constructor(rejection: RejectionCause, message: string) {
    super(message);
    this.rejection = rejection;
  }
}

/**
 * `types` are all types of the run. Throws PageRejectedError when the page is not JSON or not of the expected shape;
 * single items are only rejected.
 */
export function parsePage(
  request: PageRequest,
  bytes: Uint8Array,
  types: readonly ContentType[],
): ParsedPage {
  if (bytes.length === 0) throw new PageRejectedError('malformed', 'The response is empty.');
  if (!isUtf8(bytes)) throw new PageRejectedError('malformed', 'The response is not UTF-8 text.');
  const { list } = request;
  const type = types.find(({ name }) => name === list.type);
  const endpoint = type?.endpoints.find(({ name }) => name === list.endpoint);
  if (!type || !endpoint) throw new TypeError(`${list.type} has no endpoint "${list.endpoint}".`);
  const { shape = type.shape, isListingOnly = false } = endpoint;
  const rules = childRules(list.type, types, isListingOnly);
  const page = new PageBuilder({ list, bytes, shape, rules, isListingOnly });
  const { items, rejected, children, elements } = page;
  if (shape.items.kind === 'single') {
    page.addBody();
    return { request, items, rejected, children, elements, nextCursor: null, total: null };
  }
  const { envelope, hasNoList } = readItems(bytes, shape, page);
  const at = (path: ItemShape['total']) => (path === undefined ? undefined : valueAt(envelope, path));
  const nextCursor = cursorOf(at(shape.nextCursor));
  if (hasNoList && nextCursor === null && isNamed(request))
    throw new PageRejectedError('unexpected-shape', 'The previous page names this page, but it has no list.');
  const total = countOf(at(shape.total));
  return { request, items, rejected, children, elements, nextCursor, total, hasNoList };
}

/** Null at the end of the list: no value, `null`, `false` or an empty text. */
function cursorOf(value: unknown): string | null {
  const cursor = textOf(value);
  if (cursor === null && value !== undefined && value !== null && value !== false && value !== '')
    throw new PageRejectedError(
      'unexpected-shape',
      `The cursor of the next page must be text or a number, not ${Array.isArray(value) ? 'a list' : typeof value}. Correct "cursor_path" of the resource.`,
    );
  return cursor;
}

/** Items that are requested one by one name no further lists of their own type. */
function childRules(
  parent: string,
  types: readonly ContentType[],
  isListingOnly: boolean,
): readonly ChildRule[] {
  const children = types.filter(
    (type) => type.parent?.type === parent && (isListingOnly || type.name !== parent),
  );
  return children.flatMap(({ name, endpoints, parent: rule }) =>
    endpoints
      .filter((endpoint) => endpoint.isListingOnly !== true)
      .flatMap((endpoint) => (rule ? [{ ...rule, type: name, endpoint: endpoint.name }] : [])),
  );
}

function readItems(
  bytes: Uint8Array,
  { items, emptyLists }: ItemShape,
  page: PageBuilder,
): { readonly envelope: unknown; readonly hasNoList: boolean } {
  const path = items.kind === 'list' ? items.path : [];
  try {
    return { envelope: walkList(bytes, path, (start) => page.add(start)).envelope, hasNoList: false };
  } catch (error) {
    const body = error instanceof UnexpectedShapeError ? parseBody(bytes) : undefined;
    const missing = missingAs(body, path);
    if (missing !== null && emptyLists?.includes(missing) && !reportsError(body))
      return { envelope: body, hasNoList: true };
    if (body !== undefined)
      throw new PageRejectedError(
        'unexpected-shape',
        `The response is not what was requested: ${messageOf(error)}.`,
      );
    throw new PageRejectedError('malformed', `The response is not valid JSON: ${messageOf(error)}.`);
  }
}

/** As GraphQL does, with status 200: `{"data":null,"errors":[…]}`. */
function reportsError(body: unknown): boolean {
  const reported = [valueAt(body, ['error']), valueAt(body, ['errors'])];
  return reported.some((value) => Boolean(value) && !(Array.isArray(value) && value.length === 0));
}

/** Why there is no list at the path: a `null`, or nothing, at or before its end. */
function missingAs(body: unknown, path: JsonPath): 'null' | 'missing' | null {
  let at = body;
  for (const name of path) {
    if (at === null || at === undefined) break;
    at = valueAt(at, [name]);
  }
  if (at === null) return 'null';
  return at === undefined && body !== undefined ? 'missing' : null;
}

interface PageSource {
  readonly list: ListRef;
  readonly bytes: Uint8Array;
  readonly shape: ItemShape;
  /** Rules of the lists that its items name. */
  readonly rules: readonly ChildRule[];
  /** Its elements only name lists, and are not stored. */
  readonly isListingOnly: boolean;
}

class PageBuilder {
  readonly items: ParsedItem[] = [];
  readonly rejected: RejectedItem[] = [];
  readonly children: ListRef[] = [];
  readonly elements: number[] = [];
  readonly #source: PageSource;
  readonly #fields: FieldReader;

  constructor(source: PageSource) {
    this.#source = source;
    this.#fields = new FieldReader(source.shape, source.rules);
  }

  /** Adds the element that starts here and returns where it ends. Invalid JSON rejects only this element. */
  add(start: number): number {
    const { bytes } = this.#source;
    try {
      const { end, fields } = this.#fields.read(bytes, start);
      this.#add(fields);
      return end;
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error;
      const end = skipValue(bytes, start);
      const raw = bytes.subarray(start, end);
      this.#reject(reject(raw, 'malformed', `The item is not valid JSON: ${error.message}.`));
      return end;
    }
  }

  /** Adds the whole body, without the white space around it, which is not part of its content. */
  addBody(): void {
    const { bytes } = this.#source;
    try {
      const { end, fields } = this.#fields.read(bytes, skipSpace(bytes, 0));
      if (skipSpace(bytes, end) < bytes.length)
        throw new JsonScanError('there is unexpected data after the value', end);
      this.#add(fields);
    } catch (error) {
      if (!(error instanceof JsonScanError)) throw error;
      throw new PageRejectedError('malformed', `The response is not valid JSON: ${error.message}.`);
    }
  }

  #add(fields: ItemFields): void {
    const { list, shape, rules, isListingOnly } = this.#source;
    if (isListingOnly) {
      if (!isObject(fields.raw)) return this.#reject(notAnObject(fields.raw));
      const known = this.children.length;
      for (const rule of rules) this.#addChildren(fields, rule);
      this.elements.push(hashOf(JSON.stringify(this.children.slice(known))));
      return;
    }
    // Prepended to ids that are unique within their parent only: the parent's first key.
    const parentId = Object.values(list.parents.at(-1) ?? {})[0] ?? null;
    const read = readItem(fields, shape, parentId);
    if ('rejected' in read) return this.#reject(read.rejected);
    this.items.push(read.item);
    this.elements.push(hashOf(read.item.id));
    for (const rule of rules) this.#addChildren(fields, rule);
  }

  /** An element without a usable id: its content identifies it. */
  #reject(rejected: RejectedItem): void {
    this.rejected.push(rejected);
    this.elements.push(Number(BigInt.asIntN(32, contentHash(rejected.raw))));
  }

  #addChildren(fields: ItemFields, rule: ChildRule): void {
    const { type, endpoint, itemsAt, keys, parentKeys = {} } = rule;
    const ofParent = Object.entries(parentKeys).map(([name, path]) => [name, keyOf(fields.value(path))]);
    const elements = childElements(fields, rule);
    if (!elements)
      this.#rejectChild(
        fields,
        'no-list',
        `Its "${itemsAt?.join('.')}", which names its ${type}, is not a list.`,
      );
    for (const element of elements ?? []) {
      const own = Object.entries(keys).map(([name, path]) => [name, keyOf(element(path))]);
      const values = [...own, ...ofParent];
      if (values.every((value): value is [string, string] => value[1] !== null))
        this.children.push({ type, endpoint, parents: [Object.fromEntries(values)] });
      else {
        const paths = Object.values(keys).map((path) => [...(itemsAt ?? []), ...path].join('.'));
        this.#rejectChild(fields, 'no-id', `It names one of its ${type} without "${paths.join('", "')}".`);
      }
    }
  }

  #rejectChild({ raw }: ItemFields, cause: string, message: string): void {
    this.rejected.push(reject(raw, cause, message));
  }
}

/**
 * 32 bits (FNV-1a), which V8 stores without allocation. Two ids with the same hash make a list seem to have one item less:
 * that costs one more request and never hides a missing item.
 */
function hashOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  return hash | 0;
}

type Element = (path: JsonPath) => unknown;

/** The elements that name lists; null when they should be there and are not. */
function childElements(fields: ItemFields, rule: ChildRule): readonly Element[] | null {
  const { itemsAt, hasChildrenAt } = rule;
  if (itemsAt === undefined) return [(path) => fields.value(path)];
  const elements = fields.value(itemsAt);
  if (Array.isArray(elements))
    return (elements as unknown[]).map(
      (element) => (path) => (typeof element === 'object' ? valueAt(element, path) : element),
    );
  const hasNone = hasChildrenAt !== undefined && fields.value(hasChildrenAt) === false;
  return hasNone && (elements === undefined || elements === null) ? [] : null;
}

/** A value for an address, where half of a surrogate pair cannot be written. */
function keyOf(value: unknown): string | null {
  const text = textOf(value);
  return text?.isWellFormed() === true ? text : null;
}

/** Only the beginning of a rejected part is stored. */
const keptBytes = 4_096;
const openObject = 0x7b;

/** Reads an item. Its bytes stay a view of the page's. */
export function readItem(
  fields: ItemFields,
  shape: ItemShape,
  parentId: string | null,
): { readonly item: ParsedItem } | { readonly rejected: RejectedItem } {
  const { raw } = fields;
  if (!isObject(raw)) return { rejected: notAnObject(raw) };
  const id = readId(fields, shape.id);
  if ('cause' in id) return { rejected: reject(raw, id.cause, id.message) };
  const at = (path: JsonPath | undefined) => (path === undefined ? undefined : fields.value(path));
  const isWithinParent = shape.isIdWithinParent === true && parentId !== null;
  const item: ParsedItem = {
    id: encodeId(isWithinParent ? [parentId, ...id.parts] : id.parts),
    idKinds: id.kinds,
    name: columnOf(at(shape.name)),
    owner: columnOf(at(shape.owner)),
    folder: columnOf(at(shape.folder)),
    createdAt: instantOf(at(shape.createdAt)),
    updatedAt: instantOf(at(shape.updatedAt)),
    raw,
    rawHash: contentHash(raw),
  };
  return { item };
}

const isObject = (raw: Uint8Array): boolean => raw[0] === openObject;

const notAnObject = (raw: Uint8Array): RejectedItem =>
  reject(raw, 'not-an-object', 'The item is not a JSON object.');

function reject(raw: Uint8Array, cause: string, message: string): RejectedItem {
  return { cause, message, raw: raw.subarray(0, keptBytes) };
}

/**
 * One text for the parts of an id, which no other parts have: they are joined with `::`, and a part that contains a
 * colon, begins like a quoted one or cannot be stored as it is (control characters, half of a surrogate pair) is quoted
 * as in JSON. The only part of an id may contain colons.
 */
export function encodeId(parts: readonly string[]): string {
  const unsafe = parts.length === 1 ? /^"|\p{Cc}|\p{Cs}/u : /^"|:|\p{Cc}|\p{Cs}/u;
  return parts.map((part) => (unsafe.test(part) ? JSON.stringify(part) : part)).join('::');
}

/** SQLite stores only well-formed text. */
const columnOf = (value: unknown): string | null => textOf(value)?.toWellFormed() ?? null;

/** The parts of an id. Each must be text or a number. */
function readId(
  fields: ItemFields,
  paths: readonly JsonPath[],
):
  | { readonly parts: readonly string[]; readonly kinds: number }
  | { readonly cause: string; readonly message: string } {
  const parts: string[] = [];
  let kinds = 0;
  for (const path of paths) {
    const value = fields.value(path);
    const name = path.join('.');
    if (value === undefined || value === null || value === '')
      return { cause: 'no-id', message: `The item has no "${name}", which is its id.` };
    if (typeof value === 'string') parts.push(value);
    // Beyond 2^53 digits would be lost and two ids would become one, so the text is used as written.
    else if (typeof value === 'number') {
      kinds |= 1 << parts.length;
      parts.push(Number.isSafeInteger(value) ? String(value) : fields.written(path));
    } else return { cause: 'bad-id', message: `The item's id "${name}" is neither text nor a number.` };
  }
  return { parts, kinds };
}
