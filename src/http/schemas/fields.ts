// Fields that more than one schema uses.
import { z } from 'zod';

export const instant = z.iso.datetime().meta({ examples: ['2026-03-01T12:00:00.000Z'] });

export const id = z.guid().meta({ examples: ['0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b'] });

export const idParams = z.object({ id });

/** How many rows at most: 1 to `max`. */
export const limitOf = (max: number, standard: number) =>
  z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .min(1, `must be from 1 to ${max}`)
    .max(max, `must be from 1 to ${max}`)
    .default(standard)
    .describe(`How many at most, up to ${max}.`);

/** A query parameter that may be repeated, or hold several values separated by commas. */
export const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((raw) => [raw].flat().flatMap((part) => part.split(',')))
    .pipe(z.array(item).min(1).max(50));

export const hasNoNul = (text: string): boolean => !text.includes('\0');
export const nulRefusal = 'must not hold the character U+0000';

export const isoOrNull = (date: Date | null): string | null => date?.toISOString() ?? null;
