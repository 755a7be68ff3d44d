// Reads a page of a provider's list of models. Providers extend OpenAI's shape in ways that do not contradict each other, so
// one reader takes what it recognizes: no setting says whose shape it is, and what is missing stays unknown.
import { hasMoreValues, parseJson } from '../../core/index.ts';
import type { JsonObject } from '../dialects/json.ts';
import { asObject, booleanIn, objectsIn, textIn } from '../dialects/json.ts';
import { textOf } from '../dialects/wire.ts';
import type { Price } from '../types.ts';
import type { Feature } from './provider-definition.ts';

export interface ListedModel {
  /** The provider's name for it. */
  readonly id: string;
  /** Other names for the same model. */
  readonly aliases: readonly string[];
  /** `other`: images, speech, moderation and the like. */
  readonly kind: 'chat' | 'embeddings' | 'other';
  /** Epoch milliseconds. */
  readonly createdAt: number | null;
  readonly contextTokens: number | null;
  readonly maxOutputTokens: number | null;
  /** What the list says about each; absent: nothing. */
  readonly features: Readonly<Partial<Record<Feature, boolean>>>;
  readonly price: Price | null;
  readonly isDeprecated: boolean;
}

export interface ListPage {
  readonly models: readonly ListedModel[];
  /** The query parameter that requests the next page; null: it is the last one. */
  readonly next: { readonly name: string; readonly value: string } | null;
}

/** OpenRouter's list of some 400 models has 40,000 values, and about 200,000 with the weight of their names. */
const maxValues = 1_000_000;
const nameWeight = 4;
/** More than any provider lists; reading an entry takes 3 µs. */
const maxEntries = 20_000;

/** Longer names cannot be used. */
const maxNameLength = 200;

/** Undefined: it is not a list of models. Entries without a name are left out. */
export function readListPage(body: Uint8Array): ListPage | undefined {
  const text = textOf(body);
  if (hasMoreValues(text, maxValues, nameWeight)) return undefined;
  const json = parseJson(text);
  const entries = entriesOf(json);
  if (!entries) return undefined;
  const first = objectsIn(entries.slice(0, maxEntries));
  return { models: first.flatMap((entry) => readEntry(entry) ?? []), next: nextPage(json) };
}

/** OpenAI and most others: `data`. Gemini, Cohere, xAI: `models`. Cloudflare: `result`. Together, GitHub: the list itself. */
function entriesOf(json: unknown): readonly unknown[] | undefined {
  if (Array.isArray(json)) return json;
  const { data, models, result } = asObject(json) ?? {};
  return [data, models, result].find((each) => Array.isArray(each));
}

function nextPage(json: unknown): ListPage['next'] {
  const { has_more: hasMore, last_id: lastId, nextPageToken, ...rest } = asObject(json) ?? {};
  const { next_page_token: nextToken, result_info: info } = rest;
  const next = (name: string, value: unknown) =>
    typeof value === 'string' && value !== '' ? { name, value } : null;
  if (hasMore === true) return next('after_id', lastId);
  return next('pageToken', nextPageToken) ?? next('page_token', nextToken) ?? nextNumber(asObject(info));
}

/** Cloudflare counts its pages. */
function nextNumber({ page, per_page: size, total_count: total }: JsonObject = {}): ListPage['next'] {
  const [at, each, all] = [page, size, total].map(positive);
  return at && each && all && at * each < all ? { name: 'page', value: String(at + 1) } : null;
}

/* ---- one entry ---- */

function readEntry(entry: JsonObject): ListedModel | undefined {
  const id = idOf(entry);
  if (id === undefined || entry['active'] === false) return undefined;
  const properties = propertiesOf(entry);
  return {
    id,
    aliases: textsIn(entry['aliases']),
    kind: kindOf(entry, id),
    createdAt: createdAt(entry),
    contextTokens: contextTokens(entry, properties),
    maxOutputTokens: maxOutputTokens(entry),
    features: featuresOf(entry, properties),
    price: priceOf(entry, properties),
    // Cohere's, Mistral's and OpenRouter's; the latter two are dates.
    isDeprecated:
      entry['is_deprecated'] === true || [entry['deprecation'], entry['expiration_date']].some(isName),
  };
}

/** Cloudflare's `id` is a UUID; Gemini's names begin with `models/`. */
function idOf({ id, name, model, task }: JsonObject): string | undefined {
  const found = textIn(asObject(task) ? name : (id ?? name ?? model))?.trim();
  return found !== undefined && found.length <= maxNameLength
    ? found.replace(/^models\//, '') || undefined
    : undefined;
}

/** Cloudflare's properties, by their id. */
function propertiesOf({ properties }: JsonObject): ReadonlyMap<string, unknown> {
  return new Map(objectsIn(properties).map((each) => [String(each['property_id']), each['value']]));
}

function createdAt({ created, created_at: written }: JsonObject): number | null {
  const seconds = positive(created) ?? positive(written);
  if (seconds !== undefined) return seconds * 1_000;
  const at = Date.parse(textIn(written)?.slice(0, 40) ?? '');
  return Number.isNaN(at) ? null : at;
}

function contextTokens(entry: JsonObject, properties: ReadonlyMap<string, unknown>): number | null {
  const stated = [
    entry['context_length'],
    entry['context_window'],
    entry['loaded_context_length'],
    entry['max_context_length'],
    entry['max_model_len'],
    entry['context_size'],
    entry['inputTokenLimit'],
    entry['max_input_tokens'],
    asObject(entry['limits'])?.['max_input_tokens'],
    asObject(entry['meta'])?.['n_ctx'],
    asObject(entry['meta'])?.['n_ctx_train'],
    properties.get('context_window'),
  ];
  const tokens = stated.map(positive).find((each) => each !== undefined);
  // HuggingFace routes to one of several servers: what all of them take.
  const ofServers = liveServers(entry).flatMap((each) => positive(each['context_length']) ?? []);
  return tokens ?? (ofServers.length > 0 ? Math.min(...ofServers) : null);
}

const liveServers = ({ providers }: JsonObject): readonly JsonObject[] =>
  objectsIn(providers)
    .filter(({ status }) => status === 'live')
    .slice(0, 100);

function maxOutputTokens(entry: JsonObject): number | null {
  const stated = [
    entry['max_completion_tokens'],
    entry['max_output_tokens'],
    entry['outputTokenLimit'],
    asObject(entry['top_provider'])?.['max_completion_tokens'],
    asObject(entry['limits'])?.['max_output_tokens'],
    // Anthropic's; elsewhere the name has other meanings.
    entry['max_input_tokens'] === undefined ? undefined : entry['max_tokens'],
  ];
  return stated.map(positive).find((each) => each !== undefined) ?? null;
}

/* ---- what it is ---- */

function kindOf(entry: JsonObject, id: string): ListedModel['kind'] {
  const byName = kindByName(id);
  if (byName === 'other') return 'other';
  return statedKind(entry) ?? byName;
}

/** Types of Together, LM Studio and Hyperbolic; others write other things there. */
const types: Readonly<Record<string, ListedModel['kind']>> = {
  chat: 'chat',
  llm: 'chat',
  vlm: 'chat',
  embedding: 'embeddings',
  embeddings: 'embeddings',
  language: 'other',
  code: 'other',
  image: 'other',
  audio: 'other',
  video: 'other',
  transcribe: 'other',
  moderation: 'other',
  rerank: 'other',
};

function statedKind(entry: JsonObject): ListedModel['kind'] | undefined {
  const type = types[textIn(entry['type'])?.toLowerCase() ?? ''];
  if (type) return type;
  const task = textIn(asObject(entry['task'])?.['name']);
  if (task !== undefined) return oneOf([task], 'Text Generation', 'Text Embeddings');
  const methods = entry['supportedGenerationMethods'];
  if (Array.isArray(methods)) return oneOf(methods, 'generateContent', 'embedContent');
  const { endpoints } = entry;
  if (Array.isArray(endpoints)) return oneOf(endpoints, 'chat', 'embed');
  const outputs = modalities(entry, 'output');
  if (outputs) return oneOf(outputs, 'text', 'embeddings');
  const isChat = entry['supports_chat'] ?? asObject(entry['capabilities'])?.['completion_chat'];
  return isChat === true
    ? 'chat'
    : isChat === false && kindByName(textIn(entry['id']) ?? '') === 'chat'
      ? 'other'
      : undefined;
}

function oneOf(stated: readonly unknown[], chat: string, embeddings: string): ListedModel['kind'] {
  if (stated.includes(chat)) return 'chat';
  return stated.includes(embeddings) ? 'embeddings' : 'other';
}

const embeddingWords = new Set(['bge', 'e5', 'gte', 'minilm', 'voyage']);
const otherWords = new Set(
  (
    'whisper tts dall image images imagen veo sora audio realtime live transcribe transcription moderation guard rerank ' +
    'reranker diffusion flux speech ocr davinci babbage orpheus playai lyria aqa robotics computer safeguard'
  ).split(' '),
);

/** From the words in its name, for lists that do not state. */
function kindByName(id: string): ListedModel['kind'] {
  const words = id.toLowerCase().split(/[^a-z0-9]+/);
  if (words.some((word) => word.startsWith('embed') || embeddingWords.has(word))) return 'embeddings';
  return words.some((word) => otherWords.has(word)) ? 'other' : 'chat';
}

function modalities(entry: JsonObject, direction: 'input' | 'output'): readonly unknown[] | undefined {
  const stated = [
    asObject(entry['architecture'])?.[`${direction}_modalities`],
    entry[`${direction}_modalities`],
    entry[`supported_${direction}_modalities`],
  ];
  return stated.find((each) => Array.isArray(each));
}

/* ---- what it supports ---- */

function featuresOf(entry: JsonObject, properties: ReadonlyMap<string, unknown>): ListedModel['features'] {
  const capabilities = asObject(entry['capabilities']);
  const parameters = entry['supported_parameters'];
  const listed = [entry['capabilities'], entry['features']].find((each) => Array.isArray(each));
  const has = (list: unknown, ...names: string[]) =>
    Array.isArray(list) ? names.some((name) => list.includes(name)) : undefined;
  const isSupported = (name: string) => booleanIn(asObject(capabilities?.[name])?.['supported']);
  const servers = liveServers(entry);
  const stated: Record<Feature, readonly (boolean | undefined)[]> = {
    tools: [
      booleanIn(entry['supports_tools']),
      booleanIn(capabilities?.['function_calling']),
      has(parameters, 'tools'),
      has(listed, 'tool-calling', 'tools', 'tool_use'),
      properties.has('function_calling') ? properties.get('function_calling') === 'true' : undefined,
      servers.length > 0 ? servers.every((each) => each['supports_tools'] === true) : undefined,
    ],
    json: [
      has(parameters, 'response_format', 'structured_outputs'),
      isSupported('structured_outputs'),
      has(entry['features'], 'json_mode', 'json_schema'),
    ],
    vision: [
      has(modalities(entry, 'input'), 'image'),
      booleanIn(entry['supports_image_input']),
      booleanIn(entry['supports_vision']),
      booleanIn(capabilities?.['vision']),
      isSupported('image_input'),
      entry['type'] === 'vlm' ? true : undefined,
    ],
    reasoning: [has(parameters, 'reasoning'), isSupported('thinking'), booleanIn(entry['thinking'])],
  };
  const known = Object.entries(stated).flatMap(([feature, values]) => {
    const value = values.find((each) => each !== undefined);
    return value === undefined ? [] : [[feature, value] as const];
  });
  return Object.fromEntries(known);
}

/* ---- prices ---- */

function priceOf(entry: JsonObject, properties: ReadonlyMap<string, unknown>): Price | null {
  const pricing = asObject(entry['pricing']) ?? {};
  return (
    // OpenRouter, SambaNova: US dollars per token.
    price(1_000_000, {
      input: pricing['prompt'],
      output: pricing['completion'],
      cacheRead: pricing['input_cache_read'],
      cacheWrite: pricing['input_cache_write'],
    }) ??
    // Together: US dollars per million tokens; 0 for models without a price.
    unlessFree(price(1, { input: pricing['input'], output: pricing['output'] })) ??
    // xAI: cents per 100 million tokens.
    price(1 / 10_000, {
      input: entry['prompt_text_token_price'],
      output: entry['completion_text_token_price'],
      cacheRead: entry['cached_prompt_text_token_price'],
    }) ??
    // Novita: ten-thousandths of a US dollar per million tokens.
    price(1 / 10_000, {
      input: entry['input_token_price_per_m'],
      output: entry['output_token_price_per_m'],
    }) ??
    cloudflarePrice(properties.get('price'))
  );
}

interface Stated {
  readonly input: unknown;
  readonly output: unknown;
  readonly cacheRead?: unknown;
  readonly cacheWrite?: unknown;
}

/** Null unless both prices are stated. A negative one stands for "depends" (OpenRouter). */
function price(factor: number, stated: Stated): Price | null {
  const dollars = (value: unknown): number | undefined => {
    const amount = numeric(value);
    return amount === undefined || amount < 0 ? undefined : rounded(amount * factor);
  };
  const [input, output] = [dollars(stated.input), dollars(stated.output)];
  if (input === undefined || output === undefined || input > maxDollars || output > maxDollars) return null;
  const [cacheRead, cacheWrite] = [dollars(stated.cacheRead), dollars(stated.cacheWrite)];
  return {
    inputPerMillion: input,
    outputPerMillion: output,
    // 0 is written for models without a cache.
    ...(cacheRead ? { cacheReadPerMillion: cacheRead } : {}),
    ...(cacheWrite ? { cacheWritePerMillion: cacheWrite } : {}),
  };
}

/** As for definitions of operators. */
const maxDollars = 1e6;

const unlessFree = (found: Price | null): Price | null =>
  found && found.inputPerMillion === 0 && found.outputPerMillion === 0 ? null : found;

/** A list of `{unit: "per M input tokens", price, currency}`. */
function cloudflarePrice(value: unknown): Price | null {
  const parts = objectsIn(value).filter(({ currency }) => currency === 'USD');
  const of = (unit: string) => parts.find((each) => each['unit'] === unit)?.['price'];
  return price(1, { input: of('per M input tokens'), output: of('per M output tokens') });
}

/* ---- values ---- */

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(isName).slice(0, 100) : [];

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= maxNameLength;

/** A finite number, also written as text. */
function numeric(value: unknown): number | undefined {
  const written =
    typeof value === 'string' && value.length <= 30 && value.trim() !== '' ? Number(value) : value;
  return typeof written === 'number' && Number.isFinite(written) ? written : undefined;
}

/** A whole number from 1 on. */
function positive(value: unknown): number | undefined {
  const number = numeric(value);
  return number !== undefined && number >= 1 && number <= 1e12 ? Math.floor(number) : undefined;
}

/** Products of decimals end in noise. */
const rounded = (value: number): number => Math.round(value * 1e6) / 1e6;
