// Structured output of language models: prompts, strict schemas, and lenient parsing of the answer.
import type { AnswerSchema, IdSource, TextCompletion, TextMessage, TextRequest } from '../../core/index.ts';
import { completeWithRepair } from '../../core/index.ts';
import type { KnowledgeErrorCode } from '../errors.ts';
import { KnowledgeError } from '../errors.ts';

export type Messages = readonly TextMessage[];

/** The gateway's chat models; retries and fallbacks between models are the gateway's. */
export interface LanguageModel {
  /** False: no model is configured, which is not a degradation. */
  isConfigured(): boolean;
  /** Fails when no model responds within the signal's deadline. */
  complete(request: Omit<TextRequest, 'messages'> & { readonly messages: Messages }): Promise<TextCompletion>;
}

type Parsed<T> = { readonly value: T } | { readonly problem: string };

interface JsonCompletion<T> {
  readonly caller: string;
  readonly messages: Messages;
  readonly maxTokens: number;
  readonly schema: AnswerSchema;
  /** In characters; longer answers are not parsed. */
  readonly maxAnswerLength: number;
  /** Parses leniently (see `findJson`): the value, or what is wrong with the answer in one sentence. */
  readonly parse: (text: string) => Parsed<T> | Promise<Parsed<T>>;
  /** Thrown when the answer and its repair are both unusable. */
  readonly errorCode: KnowledgeErrorCode;
}

/** Fails as the model does, and with `errorCode` when neither the answer nor its repair can be used. */
export async function completeJson<T>(
  { model, ids }: { readonly model: LanguageModel; readonly ids: IdSource },
  { caller, maxTokens, schema, parse, errorCode, ...rest }: JsonCompletion<T>,
  signal: AbortSignal,
): Promise<T> {
  const request = { caller, temperature: 0, maxTokens, json: true, schema, signal };
  const { value } = await completeWithRepair({
    ...rest,
    maxRepeatedLength,
    signal,
    complete: (messages) => model.complete({ ...request, requestId: ids.uuid(), messages }),
    parse: async (text) => {
      const parsed = await parse(text);
      return 'value' in parsed ? parsed : { problems: [parsed.problem] };
    },
    unusable: ([problem = ''], name) =>
      new KnowledgeError(
        errorCode,
        `The model's answer could not be used, and neither could its repair: ${problem} Try a larger model.`,
        { details: { model: name, problem } },
      ),
  });
  return value;
}

const maxRepeatedLength = 4_000;

/** JSON of untrusted text for a prompt. Without angle brackets, so that the text cannot close its own element. */
export const promptData = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll('<', String.raw`\u003c`)
    .replaceAll('>', String.raw`\u003e`);

type Schema = Readonly<Record<string, unknown>>;

/** Builders of strict schemas: what may be missing is null. */
export const schemaOf = {
  text: { type: 'string' } as Schema,
  textOrNull: { type: ['string', 'null'] } as Schema,
  integerOrNull: { type: ['integer', 'null'] } as Schema,
  number: { type: 'number' } as Schema,
  oneOf: (values: readonly string[]): Schema => ({ type: 'string', enum: values }),
  list: (items: Schema): Schema => ({ type: 'array', items }),
  object: (properties: Readonly<Record<string, Schema>>): Schema => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }),
} as const;

/** The fields of an object in an answer, by plain key: small models vary the notation. */
export type Fields = ReadonlyMap<string, unknown>;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A key without case, spaces and punctuation. */
export const plainKey = (key: string): string => key.toLowerCase().replaceAll(/[^a-z]/g, '');

/** Null when it is not an object. */
export const fieldsOf = (value: unknown): Fields | null =>
  isRecord(value) ? new Map(Object.entries(value).map(([key, each]) => [plainKey(key), each])) : null;

/** The first of these fields that exists; `keys` are separated by spaces. */
export function fieldOf(fields: Fields, keys: string): unknown {
  for (const key of keys.split(' ')) {
    const value = fields.get(plainKey(key));
    if (value !== undefined) return value;
  }
  return undefined;
}
