// Compiles and runs JSON schemas in a thread, because neither compiling nor validating is guaranteed to end.
import { createHash } from 'node:crypto';
import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { serveThread } from '../threads/serve-thread.ts';

/** Both as JSON text, which is never too deep to clone. */
export interface SchemaTask {
  readonly schema: string;
  readonly value: string;
}

/**
 * Unknown keywords and formats are ignored, as in the standard: generators add their own. Inherited properties
 * ("toString") are not fields of an object.
 */
const options: Options = { strict: false, allErrors: true, ownProperties: true, logger: false };

const maxCached = 200;
const cache = new Map<string, ValidateFunction>();

/** More would not help a model or a person. */
const maxViolations = 20;
const maxViolationLength = 300;

/** Values of every type: an endlessly recursive schema fails on one of them. */
const samples: readonly unknown[] = [null, true, 0, '', [], {}, [{}], { '': '' }];

/** The problem of the schema, as a sentence; null when it can be used. */
export function problemOf(schema: string): string | null {
  try {
    const check = compiled(schema);
    for (const sample of samples) check(sample);
    return null;
  } catch (error) {
    return `${explained(error)}.`;
  }
}

/** The violations of the value; empty when it is valid. Throws when the schema cannot be used. */
export function violations({ schema, value }: SchemaTask): readonly string[] {
  const check = compiled(schema);
  if (check(JSON.parse(value))) return [];
  const errors = check.errors ?? [];
  const sentences = [...new Set(errors.map(sentenceOf))];
  if (sentences.length <= maxViolations) return sentences;
  return [...sentences.slice(0, maxViolations), `and ${sentences.length - maxViolations} more`];
}

function compiled(schema: string): ValidateFunction {
  const hash = createHash('sha256').update(schema).digest('base64');
  const known = cache.get(hash);
  if (known) {
    cache.delete(hash); // moves it to the end: the least recently used is dropped first
    cache.set(hash, known);
    return known;
  }
  const check = compile(JSON.parse(schema) as object);
  cache.set(hash, check);
  const [oldest] = cache.keys();
  if (cache.size > maxCached && oldest !== undefined) cache.delete(oldest);
  return check;
}

/** Compiles with its own instance: schemas of different tenants may have the same `$id`. */
function compile(schema: object): ValidateFunction {
  const draft: unknown = (schema as { $schema?: unknown }).$schema;
  const ajv = isDraft7(draft) ? new Ajv(options) : new Ajv2020(options);
  if (draft !== undefined && !isDraft7(draft) && !is2020(draft))
    throw new Error(`"$schema" must name draft 2020-12 or draft-07, or be left out`);
  formats.default(ajv);
  return ajv.compile(schema);
}

const isDraft7 = (draft: unknown): boolean =>
  typeof draft === 'string' && /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(draft);
const is2020 = (draft: unknown): boolean =>
  typeof draft === 'string' && /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(draft);

function explained(error: unknown): string {
  if (error instanceof RangeError) return 'It is endlessly recursive, or nested too deeply';
  const message = error instanceof Error ? error.message : String(error);
  const missing = /^can't resolve reference (\S+)/.exec(message)?.[1];
  if (missing !== undefined)
    return `It refers to ${shortened(missing)}, which it does not contain; other schemas are not loaded, put it under "$defs"`;
  return shortened(message.replace(/[.\s]+$/, ''));
}

function sentenceOf({ instancePath, message, params, keyword }: ErrorObject): string {
  const where = instancePath === '' ? 'the value' : instancePath;
  const more =
    keyword === 'additionalProperties' || keyword === 'unevaluatedProperties'
      ? ` (${JSON.stringify((params as Readonly<Record<string, unknown>>)[`${keyword.slice(0, -10)}Property`])})`
      : keyword === 'enum'
        ? ` (${JSON.stringify((params as { readonly allowedValues?: unknown }).allowedValues)})`
        : keyword === 'const'
          ? ` (${JSON.stringify((params as { readonly allowedValue?: unknown }).allowedValue)})`
          : '';
  return shortened(`${where} ${message ?? 'is not valid'}${more}`);
}

function shortened(text: string): string {
  return text.length > maxViolationLength ? `${text.slice(0, maxViolationLength)}…` : text;
}

const functions = { problemOf, violations } as const;
export type SchemaFunctions = typeof functions;

serveThread(functions);
