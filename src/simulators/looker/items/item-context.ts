// What an item is made from: its place in the type, how often it changed, and the world around it.
import type { Chance } from '../../chance.ts';
import type { SimulatedType } from '../types.ts';

export type Json = Record<string, unknown>;

/** How many of each type there were at the start: references point there, whatever was added or deleted since. */
export type World = Readonly<Record<SimulatedType, number>>;

export interface ItemContext {
  readonly index: number;
  /** 0 as it was first; one more with every change. */
  readonly version: number;
  readonly chance: Chance;
  readonly world: World;
}

/** How items of a type are made. `text` is the field of free text in which a change shows and which fills an item up. */
export interface ItemMaker {
  readonly id: (index: number, world: World) => string;
  readonly make: (context: ItemContext) => Json;
  /** What the item has besides when it is asked for by itself. */
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

/** The index of something to refer to; where there is none of the type, one of a dozen that are only talked of. */
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

/** A time that was written in the same way, so many days later. */
export const daysLater = (time: string, days: number): string => stamp(Date.parse(time) + days * dayMs);

/** What the caller may do with an item. */
export const can = (...verbs: readonly string[]): Json =>
  Object.fromEntries(['index', 'show', ...verbs].map((verb) => [verb, true]));
