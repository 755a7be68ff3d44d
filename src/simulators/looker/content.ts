// All content of a simulated Looker: filtered, sorted and encoded in pages.
import { Chance } from '../chance.ts';
import { ItemEncoder } from './item-encoder.ts';
import type { Json, World } from './item-parts.ts';
import { exploresOfModel, itemGenerators } from './items.ts';
import type { ListingQuery, SortField } from './requests.ts';
import type { Chosen, ContentChange, ContentChanged, SimulatedType, WrittenItems } from './types.ts';
import { simulatedTypes } from './types.ts';

export interface Listing {
  readonly bytes: Buffer;
  readonly total: number;
  readonly limit: number | null;
}

export interface LookerContentSettings {
  readonly world: World;
  readonly written: WrittenItems;
  readonly seed: number;
  readonly itemBytes: number;
  readonly pageLimit: number | null;
  readonly cacheBytes: number;
}

export class LookerContent {
  readonly #settings: LookerContentSettings;
  readonly #encoder: ItemEncoder;
  readonly #types: ReadonlyMap<SimulatedType, TypeContent>;
  readonly #pages: PageCache<Buffer>;
  readonly #selections = new PageCache<readonly number[]>((indices) => indices.length * 8, 16_000_000);
  #unsortedCalls = 0;

  constructor(settings: LookerContentSettings) {
    this.#settings = settings;
    this.#encoder = new ItemEncoder(settings);
    this.#pages = new PageCache((page) => page.length, settings.cacheBytes);
    const { world } = settings;
    const contentOf = (type: SimulatedType) =>
      new TypeContent(world[type], (index) => itemGenerators[type].id(index, world));
    this.#types = new Map(simulatedTypes.map((type) => [type, contentOf(type)]));
  }

  change(change: ContentChange): ContentChanged {
    const { type, write = {} } = change;
    const content = this.#type(type);
    const changed = content.apply(change);
    for (const [id, fields] of Object.entries(write)) {
      const index = content.find(id);
      if (index !== undefined) this.#encoder.write(type, index, fields);
    }
    this.#pages.clear();
    this.#selections.clear();
    return changed;
  }

  /** One item with all its fields. */
  item(type: SimulatedType, id: string, fields: string): Buffer | undefined {
    const index = this.#type(type).find(id);
    return index === undefined
      ? undefined
      : withFields(Buffer.concat(this.#parts(type, index, true)), fields);
  }

  list(type: SimulatedType, query: ListingQuery): Listing {
    const { pageLimit } = this.#settings;
    const limit = pageLimit === null ? query.limit : Math.min(query.limit ?? pageLimit, pageLimit);
    const chosen = this.#select(type, query);
    const end = limit === null ? chosen.length : Math.min(query.offset + limit, chosen.length);
    // LookML models cannot be sorted: they always have the same order.
    const isOrdered = query.sorts.length > 0 || type === 'lookml_models';
    const bytes = isOrdered
      ? this.#pages.get(
          JSON.stringify([type, query.sorts, query.filters, query.fields, query.offset, end]),
          () => this.#page(type, chosen.slice(query.offset, end), query.fields),
        )
      : this.#page(type, this.#inAnyOrder(chosen, query.offset, end), query.fields);
    return { bytes, total: chosen.length, limit };
  }

  /** The item before this page; on the first page, its first item. */
  previousItem(type: SimulatedType, query: ListingQuery): Buffer | undefined {
    const index = this.#select(type, query)[Math.max(query.offset - 1, 0)];
    return index === undefined
      ? undefined
      : withFields(Buffer.concat(this.#parts(type, index, false)), query.fields);
  }

  #page(type: SimulatedType, indices: readonly number[], fields: string): Buffer {
    const parts: Buffer[] = [open];
    for (const index of indices) {
      if (parts.length > 1) parts.push(comma);
      const item = this.#parts(type, index, false);
      if (fields === '') parts.push(...item);
      else parts.push(withFields(Buffer.concat(item), fields));
    }
    parts.push(close);
    return Buffer.concat(parts);
  }

  #parts(type: SimulatedType, index: number, isWhole: boolean): readonly Buffer[] {
    const content = this.#type(type);
    const joined: Json =
      type === 'lookml_models'
        ? { explores: exploresOfModel(index, this.#type('explores').live, this.#settings.world) }
        : {};
    const version = content.version(index);
    return this.#encoder.encode(type, {
      index,
      version,
      isRewritten: content.isRewritten(index),
      isWhole,
      joined,
    });
  }

  /** What matches the filters, in the requested order. */
  #select(type: SimulatedType, { filters, sorts }: ListingQuery): readonly number[] {
    const { live } = this.#type(type);
    const isNatural =
      sorts.length === 0 || (sorts[0]?.field === 'id' && hasNumbers(type) && !sorts[0].isDescending);
    if (filters.length === 0 && isNatural) return live;
    return this.#selections.get(JSON.stringify([type, filters, sorts]), () => {
      const rows = live.map((index) => ({ index, item: this.#item(type, index) }));
      const tests = filters.map(([field, pattern]) => [field, matcher(pattern)] as const);
      const matching = rows.filter(({ item }) => tests.every(([field, matches]) => matches(item[field])));
      if (!isNatural) matching.sort((a, b) => compare(a.item, b.item, sorts) || a.index - b.index);
      return matching.map(({ index }) => index);
    });
  }

  #item(type: SimulatedType, index: number): Json {
    return JSON.parse(Buffer.concat(this.#parts(type, index, false)).toString()) as Json;
  }

  /** Without a requested order every call has another one, as from a database in use. */
  #inAnyOrder(indices: readonly number[], from: number, to: number): readonly number[] {
    const count = indices.length;
    const chance = new Chance(this.#settings.seed, 97, this.#unsortedCalls++);
    const shift = chance.below(Math.max(count, 1));
    const isBackwards = chance.hits(0.5);
    return Array.from({ length: Math.max(to - from, 0) }, (_, nth) => {
      const place = (from + nth + shift) % count;
      return indices[isBackwards ? count - 1 - place : place] ?? 0;
    });
  }

  #type(type: SimulatedType): TypeContent {
    const content = this.#types.get(type);
    if (!content) throw new RangeError(`There is no type ${type}.`);
    return content;
  }
}

const open = Buffer.from('[');
const comma = Buffer.from(',');
const close = Buffer.from(']');

/** Ids that are numbers are sorted as numbers. */
const hasNumbers = (type: SimulatedType): boolean => type !== 'lookml_dashboards' && type !== 'explores';

function withFields(item: Buffer, fields: string): Buffer {
  if (fields === '') return item;
  return Buffer.from(JSON.stringify(pickFields(JSON.parse(item.toString()) as Json, fields)));
}

/** Equal to one of a list, or like a pattern with `%` and `_`; case does not matter. */
function matcher(pattern: string): (value: unknown) => boolean {
  const alternatives = pattern.split(',').map((part) => {
    const escaped = part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    return escaped.replaceAll('%', '.*').replaceAll('_', '.');
  });
  const expression = new RegExp(`^(?:${alternatives.join('|')})$`, 'is');
  return (value) =>
    (typeof value === 'string' || typeof value === 'number') && expression.test(String(value));
}

function compare(a: Json, b: Json, sorts: readonly SortField[]): number {
  for (const { field, isDescending } of sorts) {
    const order = compareValues(a[field], b[field]);
    if (order !== 0) return isDescending ? -order : order;
  }
  return 0;
}

function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [a, b].map((value) =>
    typeof value === 'string' ? value : JSON.stringify(value ?? null),
  );
  if (left === undefined || right === undefined || left === right) return 0;
  if (/^\d+$/.test(left) && /^\d+$/.test(right)) return Number(left) - Number(right);
  return left < right ? -1 : 1;
}

/** Keeps recent values up to a total size. */
export class PageCache<T> {
  readonly #sizeOf: (value: T) => number;
  readonly #maxBytes: number;
  readonly #values = new Map<string, T>();
  #bytes = 0;

  constructor(sizeOf: (value: T) => number, maxBytes: number) {
    this.#sizeOf = sizeOf;
    this.#maxBytes = maxBytes;
  }

  get(key: string, make: () => T): T {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#values.set(key, made);
    this.#bytes += this.#sizeOf(made);
    for (const [oldKey, old] of this.#values) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#values.delete(oldKey);
      this.#bytes -= this.#sizeOf(old);
    }
    return made;
  }

  clear(): void {
    this.#values.clear();
    this.#bytes = 0;
  }
}

/* ---- the `fields` parameter: `id,title,folder(id,name)` ---- */

type Fields = Map<string, Fields | null>;

/** Only the named fields of an item; unknown ones are ignored. */
export function pickFields(item: Json, fields: string): Json {
  return pick(item, readFields(fields));
}

function readFields(text: string): Fields {
  const root: Fields = new Map();
  const open: Fields[] = [root];
  let last = '';
  for (const token of text.match(/[^,()\s]+|[()]/g) ?? []) {
    const here = open.at(-1) ?? root;
    if (token === '(') {
      const inner: Fields = new Map();
      here.set(last, inner);
      open.push(inner);
    } else if (token === ')') {
      if (open.length > 1) open.pop();
    } else {
      here.set(token, null);
      last = token;
    }
  }
  return root;
}

function pick(value: Json, fields: Fields): Json {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const inside = fields.get(name);
      if (inside === undefined) return [];
      return [[name, inside === null ? inner : pickInside(inner, inside)]];
    }),
  );
}

function pickInside(value: unknown, fields: Fields): unknown {
  if (Array.isArray(value)) return value.map((part: unknown) => pickInside(part, fields));
  return typeof value === 'object' && value !== null ? pick(value as Json, fields) : value;
}

/** The items of a type that exist now, and how often each was changed. */
export class TypeContent {
  readonly #idOf: (index: number) => string;
  #count: number;
  readonly #versions = new Map<number, number>();
  readonly #rewritten = new Set<number>();
  readonly #deleted = new Set<number>();
  #live: readonly number[] | null = null;
  #byId: ReadonlyMap<string, number> | null = null;

  constructor(count: number, idOf: (index: number) => string) {
    this.#count = count;
    this.#idOf = idOf;
  }

  /** Indices in the order of creation. */
  get live(): readonly number[] {
    this.#live ??= Array.from({ length: this.#count }, (_, index) => index).filter(
      (index) => !this.#deleted.has(index),
    );
    return this.#live;
  }

  version(index: number): number {
    return this.#versions.get(index) ?? 0;
  }

  isRewritten(index: number): boolean {
    return this.#rewritten.has(index);
  }

  find(id: string): number | undefined {
    this.#byId ??= new Map(this.live.map((index) => [this.#idOf(index), index]));
    return this.#byId.get(id);
  }

  /** All or nothing: an unknown id is a RangeError. */
  apply(change: ContentChange): ContentChanged {
    const changed = this.#choose(change.change);
    const rewritten = this.#choose(change.rewrite);
    const deleted = this.#choose(change.delete);
    const written = this.#choose(Object.keys(change.write ?? {}));
    for (const index of changed) this.#versions.set(index, this.version(index) + 1);
    for (const index of rewritten) if (!this.#rewritten.delete(index)) this.#rewritten.add(index);
    for (const index of deleted) this.#deleted.add(index);
    const added = Array.from({ length: change.add ?? 0 }, () => this.#count++);
    this.#live = null;
    this.#byId = null;
    const ids = (indices: readonly number[]) => indices.map((index) => this.#idOf(index));
    return {
      changed: ids([...changed, ...written]),
      rewritten: ids(rewritten),
      deleted: ids(deleted),
      added: ids(added),
    };
  }

  #choose(chosen: Chosen | undefined): readonly number[] {
    if (chosen === undefined) return [];
    if (typeof chosen !== 'number')
      return chosen.map((id) => {
        const index = this.find(id);
        if (index === undefined) throw new RangeError(`There is no item with the id ${JSON.stringify(id)}.`);
        return index;
      });
    const { live } = this;
    if (chosen > live.length) throw new RangeError(`There are ${live.length} items, not ${chosen}.`);
    return Array.from({ length: chosen }, (_, nth) => live[Math.floor((nth * live.length) / chosen)] ?? 0);
  }
}
