// Untrusted schemas: their problems, violations of values, and what they cannot do to the server.
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { SchemaChecks } from '../../src/platform/json-schema/schema-checks.ts';

const schemas = new SchemaChecks({ clock: systemClock, timeoutMs: 10_000 });
afterAll(() => schemas.close());

/** With its own threads, which may die. */
function checks(timeoutMs: number): SchemaChecks {
  const made = new SchemaChecks({ clock: systemClock, timeoutMs });
  onTestFinished(() => made.close());
  return made;
}

const draft7 = 'http://json-schema.org/draft-07/schema#';

function nested(levels: number, leaf: unknown): unknown {
  let value = leaf;
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

describe('what is wrong with a schema', () => {
  it('is nothing for typical handwritten and generated schemas', async () => {
    const $defs = { line: { type: 'object', properties: { price: { type: 'number' } } } };
    for (const schema of [
      {},
      { type: 'object', title: 'Invoice', 'x-order': 3, properties: { when: { format: 'date-of-birth' } } },
      { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] },
      { $schema: draft7, definitions: { a: { type: 'string' } }, items: [{ $ref: '#/definitions/a' }] },
      {
        $id: 'https://example.com/invoice',
        $defs,
        properties: { lines: { items: { $ref: '#/$defs/line' } } },
      },
      // Refers to itself, but each time for a smaller part.
      { $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } }, $ref: '#/$defs/node' },
    ])
      expect(await schemas.problemOf(schema), JSON.stringify(schema)).toBeNull();
    // Two tenants with one $id.
    expect(await schemas.problemOf({ $id: 'https://example.com/invoice', type: 'array' })).toBeNull();
  });

  it.each([
    ['text', 'type: object', /must be a JSON object/],
    ['a list', [], /must be a JSON object/],
    ['a type that there is not', { type: 'objekt' }, /type/],
    ['a pattern that is none', { pattern: '(' }, /regular expression/i],
    ['a part elsewhere', { $ref: 'https://example.com/x.json' }, /example\.com\/x\.json.*not loaded.*\$defs/],
    ['a part that is missing', { $ref: '#/$defs/x' }, /\$defs\/x/],
    ['an old draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, /2020-12 or draft-07/],
    ['itself', { $ref: '#' }, /endlessly recursive/],
    [
      'itself around a corner',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }] } }, $ref: '#/$defs/a' },
      /endlessly recursive/,
    ],
    ['too many characters', { description: 'x'.repeat(300_000) }, /longer than 262,144 characters/],
    ['too many levels', { properties: nested(100_000, {}) }, /nested too deeply/],
  ])('is reported: %s', async (_, schema, problem) => {
    expect(await schemas.problemOf(schema)).toMatch(problem);
  });

  it('is reported when validation takes too long because the schema grows exponentially', async () => {
    const schema = {
      anyOf: Array.from({ length: 2_500 }, (_, index) => ({
        properties: { [`p${index}`]: { pattern: `^x${index}` } },
      })),
    };
    expect(await checks(100).problemOf(schema)).toMatch(/took longer than 100 ms/);
  });
});

describe('what is wrong with a value', () => {
  const schema = {
    type: 'object',
    additionalProperties: false,
    required: ['total', 'date'],
    properties: {
      total: { type: 'integer', minimum: 3 },
      kind: { enum: ['a', 'b'] },
      date: { type: 'string', format: 'date' },
    },
  };

  it('is reported together, with the path', async () => {
    const signal = new AbortController().signal;
    expect(await schemas.violations(schema, { total: 3, date: '2026-01-31' }, { signal })).toEqual([]);
    const violations = await schemas.violations(schema, { total: 1.5, kind: 'c', other: 1 }, { signal });
    expect(violations.join('\n')).toMatch(/date/);
    for (const part of ['/total must be integer', '"other"', '/kind must be equal to one of', '["a","b"]'])
      expect(violations.join('\n')).toContain(part);
  });

  it('is bounded, whatever the schema and the value', async () => {
    const value = Array.from({ length: 500 }, (_, index) => `${index}${'x'.repeat(1_000)}`);
    const violations = await schemas.violations({ items: { enum: ['y'.repeat(5_000)] } }, value);
    expect(violations.length).toBeLessThanOrEqual(21);
    expect(violations.join('').length).toBeLessThan(10_000);
    expect(await schemas.violations({}, nested(100_000, 1))).toEqual(['the value is nested too deeply']);
  });

  it('treats field names as plain names', async () => {
    const odd: unknown = JSON.parse('{"properties": {"__proto__": {}, "constructor": {"type": "string"}}}');
    const value: unknown = JSON.parse('{"__proto__": 1, "constructor": 2}');
    expect(await schemas.violations(odd, value)).toEqual(['/constructor must be string']);
    expect(await schemas.violations({ required: ['toString'] }, {})).toHaveLength(1);
  });
});

describe('a schema that does not end', () => {
  const endless = { type: 'object', properties: { name: { type: 'string', pattern: '^(a+)+$' } } };
  const value = { name: `${'a'.repeat(100)}!` };

  it('is stopped without blocking the event loop', async () => {
    const quick = checks(300);
    await quick.problemOf({});
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 10);
    await expect(quick.violations(endless, value)).rejects.toMatchObject({ name: 'SchemaCheckStopped' });
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(5);
    expect(await quick.violations({ type: 'string' }, 'x')).toEqual([]);
  });

  it('is stopped by its caller too', async () => {
    const stop = new AbortController();
    const work = checks(60_000).violations(endless, value, { signal: stop.signal });
    const gone = new Error('gone');
    stop.abort(gone);
    await expect(work).rejects.toBe(gone);
  });

  it('of one organization leaves a thread to the others (B3)', async () => {
    // So long that no check of the first organization ends, and frees its thread, before it is stopped.
    const made = checks(3_600_000);
    const stop = new AbortController();
    const held = Array.from({ length: 3 }, () =>
      made.violations(endless, value, { signal: stop.signal, group: 'a' }).catch((error: unknown) => error),
    );
    expect(await made.violations({ type: 'string' }, 'x', { group: 'b' })).toEqual([]);
    const stopped = new Error('stopped');
    stop.abort(stopped);
    expect(await Promise.all(held)).toEqual([stopped, stopped, stopped]);
  });
});
