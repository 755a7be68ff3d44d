// Keeps responses of the Responses API, so that a request can continue one by its id, on any model. Providers keep none:
// after a fallback to another one they would be missing there.
import type { Clock, Emitter } from '../../core/index.ts';
import { CoreError, kindOf, nextTurn, withTimeout } from '../../core/index.ts';
import { parseBody } from '../dialects/dialect.ts';
import { inputItems } from '../dialects/openai-responses.ts';
import type { JsonObject } from '../dialects/json.ts';
import { asObject, objectsIn, textIn } from '../dialects/json.ts';
import { SseSplitter, textOf } from '../dialects/wire.ts';
import { GatewayError } from '../errors.ts';
import type { GatewayEvents } from '../events.ts';
import type { ResponseStore } from '../stores.ts';
import type { CompletionRequest, CompletionResult, ProviderStream, StoredResponse } from '../types.ts';
import { withStoreTimeout } from './store-access.ts';

export interface StoredResponsesDeps {
  readonly clock: Clock;
  readonly events: Emitter<GatewayEvents>;
  readonly store: ResponseStore;
}

/** A request that can be sent to any model. */
export interface ExpandedRequest {
  readonly body: Uint8Array;
  /** The items of the request itself, as JSON; null for a request that continues none and names no stored item. */
  readonly input: string | null;
  readonly previousId: string | null;
}

export interface RequestOrigin extends Omit<ExpandedRequest, 'body'> {
  readonly caller: string;
}

/** Longer conversations take too long to parse, and no model has room for them. */
const maxCharacters = 20_000_000;
const tooLong =
  'The stored responses that the request continues or refers to are longer than 20,000,000 characters. Begin a new conversation.';

function checkLength(texts: readonly string[]): void {
  if (texts.reduce((sum, { length }) => sum + length, 0) > maxCharacters)
    throw new CoreError('INPUT_INVALID', tooLong, { details: { field: 'previous_response_id' } });
}

/** Each stored text takes less than 100 ms to parse, all of them far longer. */
const charactersPerTurn = 1_000_000;

/** Parses JSON, with a turn of the event loop between large texts. */
function parseInTurns(): (text: string) => Promise<unknown> {
  let characters = 0;
  return async (text) => {
    if (characters > 0 && characters + text.length > charactersPerTurn) {
      await nextTurn();
      characters = 0;
    }
    characters += text.length;
    return JSON.parse(text);
  };
}

/** A response is sent without being stored after this time. */
const storeTimeoutMs = 2_000;

export class StoredResponses {
  readonly #deps: StoredResponsesDeps;

  constructor(deps: StoredResponsesDeps) {
    this.#deps = deps;
  }

  /**
   * Replaces `previous_response_id` and references to stored items by what they stand for. Fails with
   * GATEWAY_RESPONSE_NOT_FOUND, INPUT_INVALID or STATE_UNAVAILABLE.
   */
  async expand(body: Uint8Array, caller: string): Promise<ExpandedRequest> {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const mayRefer = bytes.includes('previous_response_id') || bytes.includes('item_reference');
    if (!mayRefer) return { body, input: null, previousId: null };
    const { json } = parseBody(body);
    const previousId = textIn(json['previous_response_id']) ?? null;
    const items = inputItems(json['input']);
    const resolved = await this.#resolve(items, caller);
    if (previousId === null && resolved === items) return { body, input: null, previousId };
    const earlier = previousId === null ? [] : await this.#itemsUpTo(previousId, caller);
    const { previous_response_id: _previous, ...rest } = json;
    const input = JSON.stringify(resolved);
    const text = JSON.stringify({ ...rest, input: [...earlier, ...resolved] });
    // It is parsed again.
    if (text.length > charactersPerTurn) await nextTurn();
    return { body: Buffer.from(text), input, previousId };
  }

  /** The completion, stored before its last byte is sent. Without `store: false`; a failure to store is an event. */
  async capture(
    request: CompletionRequest,
    completion: CompletionResult,
    origin: RequestOrigin,
  ): Promise<CompletionResult> {
    const { json } = request.decode();
    if (json['store'] === false) return completion;
    const input = origin.input ?? JSON.stringify(inputItems(json['input']));
    const save = (response: JsonObject) => this.#save(response, { ...origin, input });
    const { response } = completion;
    if (response.kind === 'stream') return { ...completion, response: withSavedEnd(response, save) };
    const end = request.isStream ? endIn(response.body) : asObject(JSON.parse(textOf(response.body)));
    if (end) await save(end);
    return completion;
  }

  /** The response as it was sent. Fails with GATEWAY_RESPONSE_NOT_FOUND or STATE_UNAVAILABLE. */
  async get(id: string, caller: string): Promise<JsonObject> {
    const found = (await this.#chain(id, caller)).at(-1);
    if (!found) throw notFound(id);
    return JSON.parse(found.response) as JsonObject;
  }

  /** Fails with GATEWAY_RESPONSE_NOT_FOUND or STATE_UNAVAILABLE. */
  async delete(id: string, caller: string): Promise<void> {
    const { clock, store } = this.#deps;
    if (!isPlainId(id) || !(await withStoreTimeout(clock, store.delete(id, caller)))) throw notFound(id);
  }

  async #chain(id: string, caller: string): Promise<readonly StoredResponse[]> {
    const { clock, store } = this.#deps;
    return isPlainId(id) ? withStoreTimeout(clock, store.chain(id, caller)) : [];
  }

  /** The whole conversation up to and including a response. */
  async #itemsUpTo(id: string, caller: string): Promise<readonly JsonObject[]> {
    const chain = await this.#chain(id, caller);
    // The first one continues another that was deleted: the conversation would begin in its middle.
    if (chain.length === 0) throw notFound(id);
    const missing = chain[0]?.previousId ?? null;
    if (missing !== null) throw notFound(missing);
    checkLength(chain.flatMap(({ input, response }) => [input, response]));
    const parse = parseInTurns();
    const items: JsonObject[] = [];
    for (const { input, response } of chain) {
      for (const item of (await parse(input)) as readonly JsonObject[]) items.push(item);
      for (const item of outputOf((await parse(response)) as JsonObject)) items.push(item);
    }
    return items;
  }

  /** The items with references replaced; the same list when there are none. */
  async #resolve(items: readonly JsonObject[], caller: string): Promise<readonly JsonObject[]> {
    const { clock, store } = this.#deps;
    const ids = items.flatMap((item) =>
      item['type'] === 'item_reference' ? (textIn(item['id']) ?? '') : [],
    );
    if (ids.length === 0) return items;
    const stored = await withStoreTimeout(clock, store.withItems(ids.filter(isPlainId), caller));
    checkLength(stored.map(({ response }) => response));
    const parse = parseInTurns();
    const byId = new Map<unknown, JsonObject>();
    for (const { response } of stored)
      for (const item of outputOf((await parse(response)) as JsonObject)) byId.set(item['id'], item);
    return items.map((item) => {
      if (item['type'] !== 'item_reference') return item;
      const found = byId.get(item['id']);
      if (!found) throw notFound(String(item['id']));
      return found;
    });
  }

  async #save(
    response: JsonObject,
    { caller, input, previousId }: RequestOrigin & { readonly input: string },
  ): Promise<void> {
    const { clock, events, store } = this.#deps;
    const id = textIn(response['id']) ?? '';
    const itemIds = outputOf(response).flatMap((item) => textIn(item['id']) ?? []);
    if (id === '' || ![id, ...itemIds].every(isPlainId)) return;
    const createdAt = new Date(clock.now());
    const row = { id, caller, previousId, createdAt, input, response: JSON.stringify(response), itemIds };
    try {
      await withTimeout(store.add(row), { clock, timeoutMs: storeTimeoutMs });
    } catch (error) {
      events.emit('gateway:store-failed', { what: 'responses', cause: kindOf(error), waiting: 0 });
    }
  }
}

/** As providers make them up; anything else is not stored. */
const isPlainId = (id: string): boolean => /^[\u0021-\u007e]{1,200}$/.test(id);

const outputOf = (response: JsonObject): readonly JsonObject[] => objectsIn(response['output']);

const notFound = (id: string): GatewayError =>
  new GatewayError(
    'GATEWAY_RESPONSE_NOT_FOUND',
    `There is no stored response or item with the id "${id.slice(0, 100)}". Responses are kept for the key that created them, unless they were sent with store: false. Send the whole conversation as input.`,
    { details: { field: 'previous_response_id' } },
  );

/** The events after which nothing follows. */
const lastEvents: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);

/** The response in the last event of a stream; undefined where it is not among these bytes. */
function endIn(bytes: Uint8Array): JsonObject | undefined {
  // Most chunks are text: they are not parsed.
  if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('"output"')) return undefined;
  const splitter = new SseSplitter();
  const events = splitter.push(bytes);
  const last = splitter.end();
  for (const { data } of last ? [...events, last] : events) {
    const event = data === undefined || data === '[DONE]' ? undefined : asObject(JSON.parse(data));
    if (lastEvents.has(event?.['type'])) return asObject(event?.['response']);
  }
  return undefined;
}

/** The stream, whose last event is sent when `save` is done. */
function withSavedEnd(stream: ProviderStream, save: (response: JsonObject) => Promise<void>): ProviderStream {
  const { head, rest } = stream;
  async function* saved(): AsyncGenerator<Uint8Array> {
    for (const chunk of head) {
      const end = endIn(chunk);
      if (end) await save(end);
      yield chunk;
    }
    for await (const chunk of rest) {
      const end = endIn(chunk);
      if (end) await save(end);
      yield chunk;
    }
  }
  return { ...stream, head: [], rest: saved() };
}
