// Repeatable randomness: the same seed and subject produce the same choices, in whatever order they are made.
import type { Random } from '../core/index.ts';
import { seededRandom } from '../core/index.ts';

/** Mixes numbers into 32 bits (each step is that of MurmurHash3). */
export function mixed(...numbers: readonly number[]): number {
  let hash = 0x9747b28c;
  for (const number of numbers) {
    let part = Math.imul(number | 0, 0xcc9e2d51);
    part = (part << 15) | (part >>> 17);
    hash ^= Math.imul(part, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** 32 bits of a text (FNV-1a). */
export function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

export class Chance {
  readonly #random: Random;

  constructor(...subject: readonly number[]) {
    this.#random = seededRandom(mixed(...subject));
  }

  /** A whole number from 0 to below `bound`. */
  below(bound: number): number {
    return Math.floor(this.#random.next() * bound);
  }

  hits(probability: number): boolean {
    return this.#random.next() < probability;
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }
}
