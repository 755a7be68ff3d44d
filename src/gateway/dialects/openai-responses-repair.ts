// Streams of providers with a Responses API of their own that break its rules, for callers of the same API: an event that
// follows the rules passes as it came, the others are corrected. Clients check the order, the indices and the ids.
import type { Usage } from './conversation.ts';
import type { Repaired, ResponseContext, StreamRepair } from './dialect.ts';
import { maxParts, parseEvent } from './dialect.ts';
import type { JsonObject } from './json.ts';
import { asObject, numberIn, objectsIn, textIn } from './json.ts';
import { encodeUsage, responseOf } from './openai-responses-output.ts';
import type { SseEvent } from './wire.ts';

interface Item {
  /** As it is sent: the provider's may be missing or repeat. */
  readonly index: number;
  wireIndex: unknown;
  wireId: unknown;
  /** Begun by a delta: the event that adds it may still come. */
  isImplied: boolean;
  readonly id: string;
  readonly type: string;
  /** As it was sent last. */
  json: JsonObject;
  /** Its text or arguments so far. */
  text: string;
  /** The content part that is open. */
  part: 'output_text' | 'refusal' | undefined;
  isDone: boolean;
}

const failures: ReadonlySet<string> = new Set(['error', 'response.failed']);

/** Items of deltas whose item was not added. */
const typeOfDelta: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'message',
  'response.refusal.delta': 'message',
  'response.content_part.added': 'message',
  'response.reasoning_text.delta': 'reasoning',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.reasoning_summary_part.added': 'reasoning',
};

const prefixes: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs', function_call: 'fc' };

export class ResponsesRepair implements StreamRepair {
  readonly #context: ResponseContext;
  /** For providers that report none. */
  readonly #usage: () => Usage;
  /** As the provider began it; undefined before its first event. */
  #response: JsonObject | undefined;
  readonly #items: Item[] = [];
  readonly #ids = new Set<string>();
  /** The last item with each of the provider's indices and ids. */
  readonly #byWireIndex = new Map<unknown, Item>();
  readonly #byWireId = new Map<unknown, Item>();
  #nextNumber = 0;
  /** An event was inserted or left out: those after it get other numbers. */
  #isRenumbered = false;
  #hasEnded = false;

  constructor(context: ResponseContext, usage: () => Usage) {
    this.#context = context;
    this.#usage = usage;
  }

  read(event: SseEvent): readonly Repaired[] {
    if (event.data === undefined) return [event.bytes];
    if (event.data.trim() === '[DONE]') return this.end();
    const received = parseEvent(event.data);
    if (!received) return [event.bytes];
    const given = this.#withPreviousId(received);
    const type = textIn(given['type']) ?? event.name;
    const typed = given['type'] === type ? given : { type, ...given };
    const repaired = failures.has(type) ? [typed] : [...this.#start(type), ...this.#repair(type, typed)];
    this.#isRenumbered ||= repaired.length !== 1;
    const isNamed = event.name === type;
    return repaired.map((each) =>
      this.#numbered(each, each === received && isNamed ? event.bytes : undefined),
    );
  }

  end(): readonly Repaired[] {
    if (this.#hasEnded) return [];
    this.#isRenumbered = true;
    const completed = { type: 'response.completed', response: {} };
    return [...this.#start(completed.type), ...this.#end(completed)].map((each) => this.#numbered(each));
  }

  /** Models get the conversation instead of the id. */
  #withPreviousId(event: JsonObject): JsonObject {
    const { previous_response_id } = this.#context.request;
    const response = asObject(event['response']);
    if (typeof previous_response_id !== 'string' || !response) return event;
    return { ...event, response: { ...response, previous_response_id } };
  }

  #numbered(event: JsonObject, bytes?: Uint8Array): Repaired {
    const given = numberIn(event['sequence_number']);
    const sequence_number = this.#isRenumbered ? this.#nextNumber : (given ?? this.#nextNumber);
    this.#nextNumber = sequence_number + 1;
    return bytes && !this.#isRenumbered ? bytes : { ...event, sequence_number };
  }

  #start(type: string): readonly JsonObject[] {
    if (this.#response || type === 'response.created') return [];
    this.#response = responseOf(this.#context, '') as unknown as JsonObject;
    return [{ type: 'response.created', response: this.#response }];
  }

  #repair(type: string, event: JsonObject): readonly JsonObject[] {
    switch (type) {
      case 'response.created': {
        if (this.#response) return [];
        const known = asObject(event['response']) ?? {};
        const complete = isComplete(known);
        this.#response = complete ? known : { ...responseOf(this.#context, ''), ...withoutEmpty(known) };
        return [complete ? event : { ...event, response: this.#response }];
      }
      case 'response.queued':
      case 'response.in_progress': {
        const known = asObject(event['response']) ?? {};
        const isSame = known['id'] === this.#response?.['id'] && Array.isArray(known['output']);
        return [isSame ? event : { ...event, response: this.#response }];
      }
      case 'response.output_item.added':
        return this.#add(event);
      case 'response.output_item.done':
        return this.#done(event);
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(event);
      default:
        return this.#ofItem(type, event);
    }
  }

  #add(event: JsonObject): readonly JsonObject[] {
    const item = asObject(event['item']) ?? {};
    const last = this.#items.at(-1);
    const implied = event['output_index'] === undefined && last?.isImplied ? last : undefined;
    const known = this.#known(event, textIn(item['id'])) ?? implied;
    if (known && (known.wireId === item['id'] || (known.isImplied && !known.isDone))) {
      known.isImplied = false;
      this.#name(known, item['id'], event['output_index']);
      return [];
    }
    const added = this.#begin(textIn(item['type']) ?? '', item, event['output_index']);
    const isSame = event['output_index'] === added.index && added.json === item;
    return [isSame ? event : { ...event, output_index: added.index, item: added.json }];
  }

  #begin(type: string, given: JsonObject, wireIndex: unknown): Item {
    const index = this.#items.length;
    if (index >= maxParts) throw new RangeError('The response has too many items.');
    const givenId = textIn(given['id']);
    const isNew = givenId !== undefined && !this.#ids.has(givenId);
    const id = isNew ? givenId : `${prefixes[type] ?? 'item'}_${this.#context.id}${index}`;
    const json = given['id'] === id ? given : { ...given, id };
    const item: Item = {
      index,
      wireIndex: undefined,
      wireId: undefined,
      isImplied: false,
      id,
      type,
      json,
      text: '',
      part: undefined,
      isDone: false,
    };
    this.#items.push(item);
    this.#ids.add(id);
    this.#name(item, given['id'], wireIndex);
    return item;
  }

  #name(item: Item, wireId: unknown, wireIndex: unknown): void {
    if (this.#byWireId.get(item.wireId) === item) this.#byWireId.delete(item.wireId);
    if (this.#byWireIndex.get(item.wireIndex) === item) this.#byWireIndex.delete(item.wireIndex);
    item.wireId = wireId;
    item.wireIndex = wireIndex;
    if (wireId !== undefined) this.#byWireId.set(wireId, item);
    if (wireIndex !== undefined) this.#byWireIndex.set(wireIndex, item);
  }

  /** By its index or its id; events without either belong to the item that began last. */
  #known(event: JsonObject, id = textIn(event['item_id'])): Item | undefined {
    const index = event['output_index'];
    const byId = id === undefined ? undefined : this.#byWireId.get(id);
    if (byId) return byId;
    if (typeof index === 'number') return this.#byWireIndex.get(index);
    return id === undefined || event['item_id'] !== undefined ? this.#items.at(-1) : undefined;
  }

  #ofItem(type: string, event: JsonObject): readonly JsonObject[] {
    if (
      !/^response\.(output_text|refusal|content_part|reasoning|function_call_arguments|custom_tool)/.test(
        type,
      )
    )
      return [event];
    const before: JsonObject[] = [];
    let item = this.#known(event);
    // Its end had everything.
    if (item?.isDone && item.wireId !== undefined && item.wireId === event['item_id']) return [];
    if (!item || item.isDone) {
      const missing = typeOfDelta[type];
      // Arguments of an unknown call: its end has all of them.
      if (missing === undefined) return [];
      const empty = { type: missing, id: event['item_id'], ...emptyItems[missing] };
      item = this.#begin(missing, empty, event['output_index']);
      item.isImplied = true;
      before.push({ type: 'response.output_item.added', output_index: item.index, item: item.json });
    }
    before.push(...this.#part(type, event, item));
    if (type.endsWith('.delta')) item.text += textIn(event['delta']) ?? '';
    if (type.endsWith('.done')) item.text ||= textIn(event['arguments'] ?? event['text']) ?? '';
    if (type === 'response.content_part.done') item.part = undefined;
    const isSame = event['output_index'] === item.index && event['item_id'] === item.id;
    const needsPart =
      /output_text|refusal|content_part|reasoning_text/.test(type) && event['content_index'] === undefined;
    const needsSummary = /reasoning_summary/.test(type) && event['summary_index'] === undefined;
    if (isSame && !needsPart && !needsSummary) return [...before, event];
    const at = {
      output_index: item.index,
      item_id: item.id,
      ...(needsPart && { content_index: 0 }),
      ...(needsSummary && { summary_index: 0 }),
    };
    return [...before, { ...event, ...at }];
  }

  /** The part that a delta of a message belongs to. */
  #part(type: string, event: JsonObject, item: Item): readonly JsonObject[] {
    if (type === 'response.content_part.added') {
      item.part = asObject(event['part'])?.['type'] === 'refusal' ? 'refusal' : 'output_text';
      return [];
    }
    if (item.part || (type !== 'response.output_text.delta' && type !== 'response.refusal.delta')) return [];
    item.part = type === 'response.refusal.delta' ? 'refusal' : 'output_text';
    return [
      {
        type: 'response.content_part.added',
        output_index: item.index,
        item_id: item.id,
        content_index: 0,
        part: partOf(item.part, ''),
      },
    ];
  }

  #done(event: JsonObject): readonly JsonObject[] {
    const given = asObject(event['item']) ?? {};
    const known = this.#known(event, textIn(given['id']));
    if (known && !known.isDone) return [this.#finish(known, given, event)];
    if (known && known.wireId !== undefined && known.wireId === given['id']) return [];
    const item = this.#begin(textIn(given['type']) ?? '', given, event['output_index']);
    const added = { ...item.json, ...emptyItems[item.type] };
    return [
      { type: 'response.output_item.added', output_index: item.index, item: added },
      this.#finish(item, given, event),
    ];
  }

  #finish(item: Item, given: JsonObject, event: JsonObject): JsonObject {
    const json = this.#filled(item, given);
    const isSame = event['output_index'] === item.index && json === given;
    item.json = json;
    item.isDone = true;
    return isSame ? event : { ...event, output_index: item.index, item: json };
  }

  /** With its id and with what was streamed, where the provider leaves it out. */
  #filled(item: Item, given: JsonObject): JsonObject {
    const { id, type, text, part, json } = item;
    const isEmpty = isEmptied(item, given);
    if (given['id'] === id && given['type'] === type && !isEmpty) return given;
    const streamed =
      type === 'message' ? { content: [partOf(part ?? 'output_text', text)] } : { arguments: text };
    return { ...json, ...given, id, type, status: 'completed', ...(isEmpty && streamed) };
  }

  #end(event: JsonObject): readonly JsonObject[] {
    this.#hasEnded = true;
    const given = asObject(event['response']) ?? {};
    const before = this.#items.filter(({ isDone }) => !isDone).flatMap((item) => this.#close(item));
    // What was not streamed: clients read the ends of items.
    const output = objectsIn(given['output']);
    const ids = new Set(output.map(({ id }) => id));
    if (this.#items.every(({ id }) => ids.has(id)))
      for (const item of output)
        if (!this.#ids.has(item['id'] as string)) before.push(...this.#done({ type: itemDone, item }));
    const known = this.#response ?? {};
    const isSame =
      isComplete(given) && asObject(given['usage']) && given['id'] === known['id'] && this.#hasItems(given);
    if (isSame) return [...before, event];
    const status = event['type'] === 'response.incomplete' ? 'incomplete' : 'completed';
    const response = { ...known, status, usage: encodeUsage(this.#usage()), ...withoutEmpty(given) };
    const items = this.#items.map(({ json }) => json);
    return [...before, { ...event, response: { ...response, id: known['id'], output: items } }];
  }

  /** Whether the output is what was streamed. */
  #hasItems({ output }: JsonObject): boolean {
    const items = objectsIn(output);
    return (
      items.length === this.#items.length &&
      this.#items.every((item, index) => {
        const given = items[index];
        return given?.['id'] === item.id && !isEmptied(item, given);
      })
    );
  }

  #close(item: Item): readonly JsonObject[] {
    const { index, id, part, text } = item;
    const at = { output_index: index, item_id: id };
    const done = this.#finish(item, item.json, { type: itemDone });
    if (item.type === 'function_call')
      return [{ type: 'response.function_call_arguments.done', ...at, arguments: text }, done];
    if (!part) return [done];
    const ended = part === 'refusal' ? { refusal: text } : { text, logprobs: [] };
    return [
      { type: `response.${part}.done`, ...at, content_index: 0, ...ended },
      { type: 'response.content_part.done', ...at, content_index: 0, part: partOf(part, text) },
      done,
    ];
  }
}

/** Without what was streamed. */
const isEmptied = ({ type, text }: Item, given: JsonObject): boolean =>
  text !== '' &&
  ((type === 'function_call' && !textIn(given['arguments'])) ||
    (type === 'message' && (!Array.isArray(given['content']) || given['content'].length === 0)));

const itemDone = 'response.output_item.done';

const emptyItems: Readonly<Record<string, JsonObject>> = {
  message: { role: 'assistant', status: 'in_progress', content: [] },
  reasoning: { summary: [] },
  function_call: { status: 'in_progress', arguments: '' },
};

const partOf = (type: 'output_text' | 'refusal', text: string): JsonObject =>
  type === 'refusal' ? { type, refusal: text } : { type, text, annotations: [], logprobs: [] };

const isComplete = ({ id, model, output }: JsonObject): boolean =>
  typeof id === 'string' && id !== '' && typeof model === 'string' && Array.isArray(output);

const withoutEmpty = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined && value !== null));
