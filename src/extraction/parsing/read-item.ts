// Turns the facts of one item into an item, or says why it is none.
import type { ItemShape, JsonPath, ParsedItem, RejectedItem } from '../ports.ts';
import { contentHash } from '../vault/content-hash.ts';
import type { ItemFacts } from './item-facts.ts';
import { instantOf, textOf } from './json-values.ts';

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
