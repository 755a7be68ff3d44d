// Finds facts in the bytes of an item: the item is walked once, and only what is wanted is ever parsed.
import type { ItemShape, JsonPath } from '../ports.ts';
import { JsonReader } from './json-reader.ts';
import type { ByteRange } from './json-scanner.ts';
import type { ChildRule } from './page-reading.ts';

const quote = 0x22;
const backslash = 0x5c;

/** The facts of one item. Only paths that the finder was made for can be asked for. */
export interface ItemFacts {
  /** The bytes of the item. */
  readonly raw: Uint8Array;
  /** Undefined when there is no such value. */
  value(path: JsonPath): unknown;
  /** As it is written in the body; empty when there is no such value. */
  written(path: JsonPath): string;
}

export class FactFinder {
  readonly #reader: JsonReader;
  readonly #slots: ReadonlyMap<string, number>;

  constructor(shape: ItemShape, rules: readonly ChildRule[]) {
    const { id, name, owner, folder, createdAt, updatedAt } = shape;
    const ofItem = [...id, name, owner, folder, createdAt, updatedAt];
    const ofChildren = rules.flatMap((rule) => [rule.children ?? rule.key, rule.parentKey, rule.hasChildren]);
    const paths = new Map(
      [...ofItem, ...ofChildren].filter((path) => path !== undefined).map((path) => [nameOf(path), path]),
    );
    this.#slots = new Map([...paths.keys()].map((path, slot) => [path, slot]));
    this.#reader = new JsonReader([...paths.values()]);
  }

  /** Reads the item that starts at `at`. Throws JsonScanError when it is no JSON. */
  find(bytes: Uint8Array, at: number): { end: number; facts: ItemFacts } {
    const { end, found } = this.#reader.read(bytes, at);
    const rangeOf = (path: JsonPath): ByteRange | undefined => found[this.#slots.get(nameOf(path)) ?? -1];
    const facts = {
      raw: bytes.subarray(at, end),
      value: (path: JsonPath) => parsed(bytes, rangeOf(path)),
      written: (path: JsonPath) => textIn(bytes, rangeOf(path)),
    };
    return { end, facts };
  }
}

const nameOf = (path: JsonPath): string => (path.length === 1 ? `.${path[0]}` : JSON.stringify(path));

function parsed(bytes: Uint8Array, range: ByteRange | undefined): unknown {
  if (!range) return undefined;
  const { start, end } = range;
  const isPlainText = bytes[start] === quote && !bytes.subarray(start, end).includes(backslash);
  if (isPlainText) return textIn(bytes, { start: start + 1, end: end - 1 });
  return JSON.parse(textIn(bytes, range));
}

function textIn(bytes: Uint8Array, range: ByteRange | undefined): string {
  if (!range) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset + range.start, range.end - range.start).toString('utf8');
}
