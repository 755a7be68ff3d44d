// Writes items as JSON bytes: always the same for the same seed, cheap enough to need no store.
import { Chance } from '../chance.ts';
import { itemMakers } from './items/index.ts';
import type { ItemContext, ItemMaker, Json, World } from './items/item-context.ts';
import { daysLater } from './items/item-context.ts';
import { tile } from './items/content-items.ts';
import { subjects } from './names.ts';
import type { SimulatedType, WrittenItems } from './types.ts';
import { simulatedTypes } from './types.ts';

export interface ItemState {
  readonly index: number;
  readonly version: number;
  /** The same content with its keys in another order. */
  readonly isRewritten: boolean;
  /** As it is when asked for by itself. */
  readonly isWhole: boolean;
  /** What of the item depends on other items. */
  readonly joined: Json;
}

const tileCount = 97;
/** The text that fills items up begins anywhere in this many bytes, so that items differ. */
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

  /** From now on the item has these fields, and keeps what else was written of it. */
  write(type: SimulatedType, index: number, fields: Readonly<Json>): void {
    const items = this.#written.get(type);
    if (items) items[index] = { ...items[index], ...fields };
  }

  /** The item in pieces: a page is put together from them in one go, which halves the copying. */
  encode(type: SimulatedType, state: ItemState): readonly Buffer[] {
    const maker = itemMakers[type];
    const chance = new Chance(this.#seed, simulatedTypes.indexOf(type), state.index);
    const context: ItemContext = { index: state.index, version: state.version, chance, world: this.#world };
    const facts = maker.make(context);
    const generated = { ...facts, ...(state.isWhole ? maker.more?.(context) : {}), ...state.joined };
    const written = this.#written.get(type)?.[state.index];
    const parts = written
      ? [writtenItem(maker, context, generated, written)]
      : this.#parts(maker, context, generated);
    return state.isRewritten ? [withReversedKeys(Buffer.concat(parts))] : parts;
  }

  #parts(maker: ItemMaker, context: ItemContext, generated: Json): readonly Buffer[] {
    const { chance, version } = context;
    const value = revised(maker.text.value(context), version);
    const head = Buffer.from(JSON.stringify(generated).slice(0, -1));
    const text = Buffer.from(`,"${maker.text.field}":${JSON.stringify(value).slice(0, -1)}`);
    const room = this.#itemBytes - head.length - text.length - end.length;
    const tiles = maker.hasTiles ? this.#tilesFor(chance, room) : [];
    const filler = this.#fillerFor(chance, room - lengthOf(tiles));
    return [head, ...tiles, text, filler, end];
  }

  /** As many tiles as there is room for; a handful where items have no given size. */
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

/**
 * What is written comes first, as it does in life: titles and descriptions. Of it only fields that the item has: what is
 * asked for by itself has more than what is listed.
 */
function writtenItem(
  maker: ItemMaker,
  context: ItemContext,
  generated: Json,
  written: Readonly<Json>,
): Buffer {
  const { dashboard_elements: tiles = [], ...fields } = written;
  const text = fields[maker.text.field] ?? maker.text.value(context);
  const said = revised(typeof text === 'string' ? text : '', context.version);
  const whole = { ...generated, [maker.text.field]: said };
  const known = Object.entries(fields).filter(([field]) => field in whole);
  const changed = typeof fields['updated_at'] === 'string' ? fields['updated_at'] : null;
  return Buffer.from(
    JSON.stringify({
      ...Object.fromEntries(known),
      ...whole,
      ...Object.fromEntries(known),
      [maker.text.field]: said,
      ...(changed === null ? {} : { updated_at: daysLater(changed, context.version) }),
      ...(maker.hasTiles ? { dashboard_elements: tiles } : {}),
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
