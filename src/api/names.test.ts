import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { instant } from './fields.ts';
import { fromWire, toWire } from './names.ts';

const Thing = z.object({
  display_name: z.string(),
  created_at: instant,
  deleted_at: instant.nullable(),
  user_data: z.record(z.string(), z.unknown()),
  child_items: z.array(z.object({ is_new: z.boolean() })),
});

describe('toWire', () => {
  it('maps camelCase names to the names of the schema and Dates to ISO 8601', () => {
    const createdAt = new Date('2026-03-01T12:00:00Z');
    const wire = toWire(Thing, {
      displayName: 'a',
      createdAt,
      deletedAt: null,
      userData: {},
      childItems: [{ isNew: true }],
    });
    expect(wire).toEqual({
      display_name: 'a',
      created_at: '2026-03-01T12:00:00.000Z',
      deleted_at: null,
      user_data: {},
      child_items: [{ is_new: true }],
    });
  });

  it('keeps the keys of user data', () => {
    const userData = { firstName: 'Ada', snake_case: 1, nested: { someKey: [{ otherKey: 2 }] } };
    expect(toWire(Thing, { userData })).toEqual({ user_data: userData });
  });

  it('leaves out fields that the schema does not have', () => {
    expect(toWire(z.object({ id: z.string() }), { id: 'a', passwordHash: 'x' })).toEqual({ id: 'a' });
  });

  it('keeps unknown fields of a loose object as they are', () => {
    expect(toWire(z.looseObject({ some_id: z.string() }), { someId: 'a', extraField: 1 })).toEqual({
      some_id: 'a',
      extraField: 1,
    });
  });

  it('maps by the option of a union that accepts the value', () => {
    const Either = z.union([
      z.object({ kind: z.literal('a'), first_name: z.string() }),
      z.object({ kind: z.literal('b'), last_name: z.string() }),
    ]);
    expect(toWire(Either, { kind: 'b', lastName: 'L' })).toEqual({ kind: 'b', last_name: 'L' });
  });

  it('maps recursive schemas', () => {
    const Node: z.ZodType = z.lazy(() => z.object({ node_name: z.string(), child_nodes: z.array(Node) }));
    expect(toWire(Node, { nodeName: 'a', childNodes: [{ nodeName: 'b', childNodes: [] }] })).toEqual({
      node_name: 'a',
      child_nodes: [{ node_name: 'b', child_nodes: [] }],
    });
  });
});

describe('fromWire', () => {
  it('maps parsed input to camelCase and keeps absent fields absent', () => {
    const Body = z.strictObject({
      base_url: z.string(),
      env_var: z.string().nullish(),
      meta_data: z.record(z.string(), z.unknown()).optional(),
    });
    const parsed = Body.parse({ base_url: 'u', meta_data: { some_key: 1 } });
    expect(fromWire(Body, parsed)).toEqual({ baseUrl: 'u', metaData: { some_key: 1 } });
  });

  it('keeps the result of a transform unchanged', () => {
    const Query = z.object({ retry_after_seconds: z.string().transform(Number) });
    expect(fromWire(Query, Query.parse({ retry_after_seconds: '5' }))).toEqual({ retryAfterSeconds: 5 });
  });
});
