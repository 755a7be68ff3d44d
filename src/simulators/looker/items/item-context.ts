// What an item is generated from: its index, its version, and the number of other items.
import type { Chance } from '../../chance.ts';
import type { SimulatedType } from '../types.ts';

export type Json = Record<string, unknown>;

/** How many of each type there were at the start: references point there, whatever was added or deleted since. */
export type World = Readonly<Record<SimulatedType, number>>;

export interface ItemContext {
  readonly index: number;
  /** 0 at first; one more with every change. */
  readonly version: number;
  readonly chance: Chance;
  readonly world: World;
}

/** How items of a type are generated. `text` is the free-text field that shows changes and is filled up to a size. */
export interface ItemMaker {
  readonly id: (index: number, world: World) => string;
  readonly make: (context: ItemContext) => Json;
  /** Further fields of the item when it is requested alone. */
  readonly more?: (context: ItemContext) => Json;
  readonly text: { readonly field: string; readonly value: (context: ItemContext) => string };
  /** The item also has a list of tiles. */
  readonly hasTiles?: true;
}

export const numberedId = (index: number): string => String(index + 1);

/** A number in the name where there are more items than names. */
export function numberedName(names: readonly string[], index: number): string {
  const name = names[index % names.length] ?? 'item';
  return index < names.length ? name : `${name}_${Math.floor(index / names.length) + 1}`;
}

/** The index of an item to refer to; if the type has none, one of twelve that do not exist. */
export function reference({ chance, world }: ItemContext, type: SimulatedType): number {
  return chance.below(world[type] || 12);
}

const beginning = Date.UTC(2023, 0, 9);
const dayMs = 86_400_000;

/** As Looker writes times: `2024-03-01T09:15:00.000+00:00`. */
const stamp = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00');

export function createdAt({ index, chance }: ItemContext): string {
  return stamp(beginning + (index % 700) * dayMs + chance.below(dayMs));
}

/** Later with every change. */
export function updatedAt({ index, version }: ItemContext): string {
  return stamp(beginning + (700 + (index % 60) + version) * dayMs + ((index * 61_000) % dayMs));
}

/** That time plus this many days. */
export const daysLater = (time: string, days: number): string => stamp(Date.parse(time) + days * dayMs);

/** What the caller may do with an item. */
export const can = (...verbs: readonly string[]): Json =>
  Object.fromEntries(['index', 'show', ...verbs].map((verb) => [verb, true]));
