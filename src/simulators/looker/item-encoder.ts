// Encodes items as JSON bytes: the same for the same seed, cheap enough to be generated on every call.
import { Chance } from '../chance.ts';
import type { ItemContext, ItemGenerator, Json, World } from './item-parts.ts';
import { daysLater, subjects } from './item-parts.ts';
import { itemGenerators, tile } from './items.ts';
import type { SimulatedType, WrittenItems } from './types.ts';
import { simulatedTypes } from './types.ts';

export interface ItemState {
  readonly index: number;
  readonly version: number;
  /** The same content with its keys in another order. */
  readonly isRewritten: boolean;
  /** Includes the fields that only the item alone has. */
  readonly isWhole: boolean;
  /** Fields that depend on other items. */
  readonly joined: Json;
}

const tileCount = 97;
/** The filler text starts anywhere in this many bytes, so that items differ. */
const fillerSpread = 4_096;

export class ItemEncoder {
  readonly #seed: number;
  readonly #world: World;
  readonly #written: ReadonlyMap<SimulatedType, Readonly<Json>[]>;
  readonly #itemBytes: number;
  readonly #tiles: readonly Buffer[];
  readonly #filler: Buffer;

  constructor(settings: {
    readonly seed: number;
    readonly world: World;
    readonly itemBytes: number;
    readonly written?: WrittenItems;
  }) {
    this.#seed = settings.seed;
    this.#world = settings.world;
    const { written = {} } = settings;
    this.#written = new Map(simulatedTypes.map((type) => [type, [...(written[type] ?? [])]]));
    this.#itemBytes = settings.itemBytes;
    this.#tiles = Array.from({ length: tileCount }, (_, index) =>
      Buffer.from(JSON.stringify(tile(index, new Chance(settings.seed, 99, index)))),
    );
    this.#filler = fillerText(settings.seed, settings.itemBytes + fillerSpread);
  }

  /** Replaces these fields of the item. */
  write(type: SimulatedType, index: number, fields: Readonly<Json>): void {
    const items = this.#written.get(type);
    if (items) items[index] = { ...items[index], ...fields };
  }

  /** The item in parts: a page concatenates all of them once, which halves the copying. */
  encode(type: SimulatedType, state: ItemState): readonly Buffer[] {
    const generator = itemGenerators[type];
    const chance = new Chance(this.#seed, simulatedTypes.indexOf(type), state.index);
    const context: ItemContext = { index: state.index, version: state.version, chance, world: this.#world };
    const facts = generator.make(context);
    const generated = { ...facts, ...(state.isWhole ? generator.more?.(context) : {}), ...state.joined };
    const written = this.#written.get(type)?.[state.index];
    const parts = written
      ? [writtenItem(generator, context, generated, written)]
      : this.#parts(generator, context, generated);
    return state.isRewritten ? [withReversedKeys(Buffer.concat(parts))] : parts;
  }

  #parts(generator: ItemGenerator, context: ItemContext, generated: Json): readonly Buffer[] {
    const { chance, version } = context;
    const value = revised(generator.text.value(context), version);
    const head = Buffer.from(JSON.stringify(generated).slice(0, -1));
    const text = Buffer.from(`,"${generator.text.field}":${JSON.stringify(value).slice(0, -1)}`);
    const room = this.#itemBytes - head.length - text.length - end.length;
    const tiles = generator.hasTiles ? this.#tilesFor(chance, room) : [];
    const filler = this.#fillerFor(chance, room - lengthOf(tiles));
    return [head, ...tiles, text, filler, end];
  }

  /** As many tiles as fit; two to six where items have no fixed size. */
  #tilesFor(chance: Chance, room: number): readonly Buffer[] {
    const parts: Buffer[] = [tilesBegin];
    let size = tilesBegin.length;
    const count = this.#itemBytes === 0 ? 2 + chance.below(5) : Number.POSITIVE_INFINITY;
    for (let at = 0; at < count; at++) {
      const next = this.#tiles[chance.below(tileCount)] ?? comma;
      if (this.#itemBytes > 0 && size + next.length + ',]'.length > room) break;
      if (at > 0) parts.push(comma);
      parts.push(next);
      size += next.length + 1;
    }
    parts.push(tilesEnd);
    return parts;
  }

  #fillerFor(chance: Chance, room: number): Buffer {
    if (room <= 0) return Buffer.alloc(0);
    const from = chance.below(fillerSpread);
    return this.#filler.subarray(from, from + room);
  }
}

const end = Buffer.from('"}');
const comma = Buffer.from(',');
const tilesBegin = Buffer.from(',"dashboard_elements":[');
const tilesEnd = Buffer.from(']');

/** Written fields come first, but only those that the item has: an item alone has more than one in a list. */
function writtenItem(
  generator: ItemGenerator,
  context: ItemContext,
  generated: Json,
  written: Readonly<Json>,
): Buffer {
  const { dashboard_elements: tiles = [], ...fields } = written;
  const text = fields[generator.text.field] ?? generator.text.value(context);
  const revisedText = revised(typeof text === 'string' ? text : '', context.version);
  const whole = { ...generated, [generator.text.field]: revisedText };
  const known = Object.entries(fields).filter(([field]) => field in whole);
  const changed = typeof fields['updated_at'] === 'string' ? fields['updated_at'] : null;
  return Buffer.from(
    JSON.stringify({
      ...Object.fromEntries(known),
      ...whole,
      ...Object.fromEntries(known),
      [generator.text.field]: revisedText,
      ...(changed === null ? {} : { updated_at: daysLater(changed, context.version) }),
      ...(generator.hasTiles ? { dashboard_elements: tiles } : {}),
    }),
  );
}

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);

const revised = (text: string, version: number): string =>
  version === 0 ? text : `${text} (revision ${version})`;

function fillerText(seed: number, length: number): Buffer {
  const chance = new Chance(seed, 98);
  const words = Buffer.from(Array.from({ length: 4_000 }, () => chance.pick(subjects)).join(' and '));
  return Buffer.alloc(length, words);
}

function withReversedKeys(bytes: Buffer): Buffer {
  const entries = Object.entries(JSON.parse(bytes.toString()) as Json);
  return Buffer.from(JSON.stringify(Object.fromEntries(entries.toReversed())));
}
