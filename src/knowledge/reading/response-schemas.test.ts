// Schemas as providers with strict JSON schemas require them.
import { describe, expect, it } from 'vitest';
import { confirmationSchema } from '../entities/confirm.ts';
import { readingSchema } from './model-reader.ts';

describe('response schemas', () => {
  it.each([readingSchema, confirmationSchema])(
    'of a $name allow no other properties and require all of theirs',
    ({ schema }) => {
      const objects: Record<string, unknown>[] = [];
      JSON.stringify(schema, (_, value: unknown) => {
        if (typeof value === 'object' && value !== null && 'properties' in value) objects.push(value);
        return value;
      });
      expect(objects.length).toBeGreaterThan(0);
      for (const { properties, required, additionalProperties } of objects) {
        expect(additionalProperties).toBe(false);
        expect(required).toEqual(Object.keys(properties as object));
      }
    },
  );
});
