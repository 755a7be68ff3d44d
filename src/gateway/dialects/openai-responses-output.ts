// Responses of OpenAI's Responses API: decoding and encoding, whole and streamed.
import type OpenAI from 'openai';
import { CompletionBuilder } from './completion-builder.ts';
import type {
  AssistantPart,
  Citation,
  Completion,
  CompletionEvent,
  FinishReason,
  ReasoningPart,
  ToolCallPart,
  Usage,
} from './conversation.ts';
import { asCustomCall, readSignature, writeSignature } from './conversation.ts';
import type { ResponseContext, StreamDecoder, StreamEncoder } from './dialect.ts';
import { isErrorBody, parseEvent, tokenCount } from './dialect.ts';
import { mediaSource } from './openai-chat-messages.ts';
import type { JsonObject } from './json.ts';
import type { SseEvent } from './wire.ts';
import { asObject, dataUrl, numberIn, objectsIn, textIn, withoutUndefined } from './json.ts';

/* ---- responses of providers ---- */

export function decodeResponse(json: JsonObject): Completion | undefined {
  if (!Array.isArray(json['output'])) return undefined;
  const decoder = new ResponsesDecoder();
  decoder.readResponse(json);
  return decoder.builder.end();
}

/** Undefined for an item without content. */
export function decodeReasoning(item: JsonObject): ReasoningPart | undefined {
  const summary = textOfParts(item['summary']);
  const content = textOfParts(item['content']);
  const text = content === '' ? summary : content;
  const signature = readSignature(textIn(item['encrypted_content']) ?? '', 'responses', textIn(item['id']));
  if (text === '' && !signature) return undefined;
  const isSummary = content === '' && summary !== '' && signature?.api === 'responses';
  return { type: 'reasoning', text, ...(isSummary && { isSummary }), ...(signature && { signature }) };
}

const textOfParts = (parts: unknown): string =>
  objectsIn(parts)
    .map((part) => textIn(part['text']) ?? '')
    .join('\n\n');

function readUsage(response: JsonObject): Usage | undefined {
  const usage = asObject(response['usage']);
  const prompt = tokenCount(usage?.['input_tokens']);
  const completion = tokenCount(usage?.['output_tokens']) ?? 0;
  if (!usage || prompt === undefined || prompt + completion === 0) return undefined;
  const ofPrompt = asObject(usage['input_tokens_details']);
  return {
    prompt,
    completion,
    cacheRead: tokenCount(ofPrompt?.['cached_tokens']) ?? 0,
    cacheWrite: tokenCount(ofPrompt?.['cache_write_tokens']) ?? 0,
    reasoning: tokenCount(asObject(usage['output_tokens_details'])?.['reasoning_tokens']) ?? 0,
  };
}

/** What is known about an output item while it is streamed; its key in the builder. */
interface OpenItem {
  readonly type: string;
  id: string | undefined;
  /** Begun by a delta: the event that adds it may still come. */
  isImplied: boolean;
  hasContent: boolean;
  hasEnded: boolean;
}

/** Items are known by their id, or by their index; servers that send neither stream one item after the other. */
export class ResponsesDecoder implements StreamDecoder {
  readonly builder = new CompletionBuilder();
  isDone = false;
  /** In the order of their start. */
  readonly #items: OpenItem[] = [];
  readonly #byId = new Map<unknown, OpenItem>();
  /** The last one with each index. */
  readonly #byIndex = new Map<unknown, OpenItem>();
  #summaryIndex: unknown;

  /** A whole response. */
  readResponse(response: JsonObject): void {
    this.builder.start(response['id'], response['model']);
    const usage = readUsage(response);
    if (usage) this.builder.usage(usage);
    const output = objectsIn(response['output']);
    const ids = new Set(output.flatMap(({ id }) => textIn(id) ?? []));
    const read = new Set<OpenItem>();
    for (const [index, given] of output.entries()) {
      const id = textIn(given['id']);
      const ofIndex = this.#byIndex.get(index);
      const isSame = (item: OpenItem | undefined) => item && !read.has(item) && item.id === id;
      const mayBeSame = (item: OpenItem | undefined) =>
        item && !read.has(item) && item.type === given['type'] && !ids.has(item.id ?? '');
      const known =
        [ofIndex, this.#byId.get(id)].find(isSame) ?? [ofIndex, this.#items[index]].find(mayBeSame);
      const item = known ?? this.#begin(textIn(given['type']) ?? '', given);
      read.add(item);
      this.#end(item, given);
    }
    this.builder.finish(finishReasonOf(response));
  }

  read({ name, data }: SseEvent): JsonObject | undefined {
    if (data === undefined || data === '') return undefined;
    if (data.trim() === '[DONE]') {
      this.endOfStream();
      this.isDone = true;
      return undefined;
    }
    const event = parseEvent(data);
    if (!event) return { error: { message: 'An event of the stream is not JSON.' } };
    const type = textIn(event['type']) ?? name;
    const response = asObject(event['response']);
    if (type === 'error' || (!response && isErrorBody(event))) return event;
    if (type === 'response.failed') return { error: asObject(response?.['error']) ?? {} };
    this.#readEvent(type, event, response);
    return undefined;
  }

  /** Some servers end the stream without the last event: it is complete if every item is. */
  endOfStream(): void {
    const isComplete = this.#items.length > 0 && this.#items.every(({ hasEnded }) => hasEnded);
    if (isComplete && this.builder.finishReason === undefined) this.builder.finish('stop');
  }

  #readEvent(type: string, event: JsonObject, response: JsonObject | undefined): void {
    const { builder } = this;
    const delta = textIn(event['delta']) ?? '';
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        builder.start(response?.['id'], response?.['model']);
        return;
      case 'response.output_item.added':
        this.#add(event, asObject(event['item']) ?? {});
        return;
      case 'response.output_item.done': {
        const given = asObject(event['item']) ?? {};
        this.#end(this.#item(event, textIn(given['type']) ?? ''), given);
        return;
      }
      case 'response.content_part.added':
        // Parts of one message: the next text is another one.
        builder.endText();
        return;
      case 'response.output_text.delta':
        this.#text(event, 'message', 'text', delta);
        return;
      case 'response.refusal.delta':
        this.#text(event, 'message', 'refusal', delta);
        return;
      case 'response.reasoning_text.delta':
        this.#text(event, 'reasoning', 'reasoning', delta);
        return;
      case 'response.reasoning_summary_text.delta':
        this.#summary(event, delta);
        return;
      case 'response.output_text.annotation.added':
        builder.annotate([asObject(event['annotation']) ?? {}].flatMap(decodeCitation));
        return;
      case 'response.function_call_arguments.delta':
        this.#arguments(event, 'function_call', delta);
        return;
      case 'response.custom_tool_call_input.delta':
        this.#arguments(event, 'custom_tool_call', delta);
        return;
      case 'response.function_call_arguments.done':
        builder.finalArguments(this.#item(event, 'function_call'), textIn(event['arguments']) ?? '');
        return;
      case 'response.custom_tool_call_input.done':
        builder.finalArguments(this.#item(event, 'custom_tool_call'), textIn(event['input']) ?? '');
        return;
      case 'response.completed':
      case 'response.incomplete':
        this.readResponse(response ?? {});
        this.isDone = true;
        return;
      default:
    }
  }

  #known(event: JsonObject): OpenItem | undefined {
    const index = event['output_index'];
    const id = textIn(event['item_id']) ?? textIn(asObject(event['item'])?.['id']);
    if (id === undefined && index === undefined) return this.#items.at(-1);
    const ofIndex = this.#byIndex.get(index);
    if (ofIndex && (id === undefined || (ofIndex.id ?? id) === id)) return ofIndex;
    // Some servers have one index for all items, others another id in every event.
    return this.#byId.get(id) ?? (ofIndex?.hasEnded ? undefined : ofIndex);
  }

  /** The item of an event; begins it if the event that should have is missing. */
  #item(event: JsonObject, type: string): OpenItem {
    const known = this.#known(event);
    if (known) return known;
    const item = this.#begin(type, { ...asObject(event['item']) }, event);
    item.isImplied = true;
    return item;
  }

  #add(event: JsonObject, given: JsonObject): void {
    const type = textIn(given['type']) ?? '';
    const index = event['output_index'];
    const known = this.#known(event) ?? (index === undefined ? this.#items.at(-1) : undefined);
    const isRepeated = known?.id === given['id'] && this.#byIndex.get(index) === known;
    if (known?.type !== type || known.hasEnded || !(known.isImplied || isRepeated)) {
      this.#begin(type, given, event);
      return;
    }
    known.isImplied = false;
    this.#identify(known, given, event);
  }

  #begin(type: string, given: JsonObject, event: JsonObject = {}): OpenItem {
    const item: OpenItem = { type, id: undefined, isImplied: false, hasContent: false, hasEnded: false };
    this.#items.push(item);
    this.builder.endText();
    this.#summaryIndex = undefined;
    this.#identify(item, given, event);
    return item;
  }

  #identify(item: OpenItem, given: JsonObject, event: JsonObject): void {
    item.id ??= textIn(given['id']) ?? textIn(event['item_id']);
    if (item.id !== undefined) this.#byId.set(item.id, item);
    if (event['output_index'] !== undefined) this.#byIndex.set(event['output_index'], item);
    if (item.type === 'function_call' || item.type === 'custom_tool_call')
      this.builder.toolCall(item, {
        id: given['call_id'],
        name: given['name'],
        ...(item.type === 'custom_tool_call' && { isCustom: true }),
      });
  }

  #text(event: JsonObject, type: string, kind: 'text' | 'refusal' | 'reasoning', delta: string): void {
    const item = this.#item(event, type);
    if (delta !== '') item.hasContent = true;
    this.builder.text(kind, delta);
  }

  /** Parts of a summary are paragraphs. */
  #summary(event: JsonObject, delta: string): void {
    const index = event['summary_index'];
    const item = this.#item(event, 'reasoning');
    const isNext = item.hasContent && this.#summaryIndex !== index;
    this.#summaryIndex = index;
    if (delta !== '') item.hasContent = true;
    this.builder.text('reasoning', isNext ? `\n\n${delta}` : delta);
  }

  #arguments(event: JsonObject, type: string, delta: string): void {
    const item = this.#item(event, type);
    if (delta !== '') item.hasContent = true;
    this.builder.toolArguments(item, delta);
  }

  /** The whole item: what has not been streamed is taken from it. */
  #end(item: OpenItem, given: JsonObject): void {
    const { builder } = this;
    // The last event repeats all items.
    if (item.hasEnded) return;
    switch (textIn(given['type']) ?? item.type) {
      case 'message':
        if (!item.hasContent) readContent(builder, given);
        builder.endText();
        break;
      case 'reasoning': {
        const part = decodeReasoning(given);
        if (part && !item.hasContent) builder.text('reasoning', part.text);
        if (part?.signature) builder.signature(part.signature, part.isSummary);
        builder.endText();
        break;
      }
      case 'function_call':
      case 'custom_tool_call':
        builder.toolCall(item, { id: given['call_id'], name: given['name'] });
        builder.finalArguments(item, textIn(given['arguments'] ?? given['input']) ?? '');
        builder.endToolCall(item);
        break;
      case 'image_generation_call': {
        const data = textIn(given['result']);
        if (data !== undefined && !item.hasContent)
          builder.media({ type: 'image', source: mediaSource(imageUrl(data)) });
        break;
      }
      default:
    }
    item.hasEnded = true;
  }
}

const imageUrl = (data: string): string =>
  data.startsWith('data:') ? data : `data:image/png;base64,${data}`;

function readContent(builder: CompletionBuilder, message: JsonObject): void {
  for (const part of objectsIn(message['content'])) {
    if (part['type'] === 'refusal') builder.text('refusal', textIn(part['refusal']) ?? '', true);
    else builder.text('text', textIn(part['text']) ?? '', true);
    const citations = objectsIn(part['annotations']).flatMap(decodeCitation);
    if (citations.length > 0) builder.annotate(citations);
  }
}

function decodeCitation(annotation: JsonObject): readonly Citation[] {
  const url = textIn(annotation['url']);
  if (url === undefined) return [];
  const [start, end] = [numberIn(annotation['start_index']), numberIn(annotation['end_index'])];
  return [withoutUndefined({ url, title: textIn(annotation['title']), start, end })];
}

function finishReasonOf(response: JsonObject): FinishReason {
  const reason = asObject(response['incomplete_details'])?.['reason'];
  if (reason === 'content_filter') return 'content-filter';
  return response['status'] === 'incomplete' || reason === 'max_output_tokens' ? 'length' : 'stop';
}

/* ---- responses to callers ---- */

/** `output_text` is made by OpenAI's client, not by its API. */
type Response = Omit<OpenAI.Responses.Response, 'output_text'>;
type OutputItem = OpenAI.Responses.ResponseOutputItem;

export function encodeResponse(completion: Completion, context: ResponseContext): JsonObject {
  const names = new ToolNames(context);
  const output = completion.parts.map((part, index) =>
    encodeItem(part, itemId(part, context, index, names), names),
  );
  return responseOf(context, completion.model, { output, completion });
}

/** Fields that the API repeats from the request. */
const repeatedFields = (
  'instructions max_output_tokens max_tool_calls metadata previous_response_id prompt_cache_key safety_identifier ' +
  'store temperature text tool_choice tools top_p truncation user reasoning parallel_tool_calls'
).split(' ');

export function responseOf(
  { id, createdAt, request }: ResponseContext,
  model: string,
  ended?: { readonly output: readonly OutputItem[]; readonly completion: Completion },
): Response {
  const repeated = Object.fromEntries(
    repeatedFields.flatMap((name) =>
      request[name] === undefined || request[name] === null ? [] : [[name, request[name]]],
    ),
  );
  const defaults: Response = {
    id: `resp_${id}`,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    access_programs: null,
  };
  const response: Response = { ...defaults, ...repeated };
  return ended ? { ...response, ...endOf(ended.output, ended.completion) } : response;
}

function endOf(output: readonly OutputItem[], { finishReason, usage }: Completion): Partial<Response> {
  const reason =
    finishReason === 'length'
      ? ('max_output_tokens' as const)
      : finishReason === 'content-filter'
        ? ('content_filter' as const)
        : undefined;
  return {
    status: reason ? 'incomplete' : 'completed',
    incomplete_details: reason ? { reason } : null,
    output: [...output],
    ...(usage && { usage: encodeUsage(usage) }),
  };
}

export const encodeUsage = ({
  prompt,
  completion,
  cacheRead,
  cacheWrite,
  reasoning,
}: Usage): OpenAI.Responses.ResponseUsage => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion,
});

const idPrefixes: Readonly<Record<AssistantPart['type'], string>> = {
  text: 'msg',
  refusal: 'msg',
  reasoning: 'rs',
  'tool-call': 'fc',
  image: 'ig',
  file: 'msg',
  audio: 'msg',
};

/** The API checks the prefix when a client returns the item. */
function itemId(part: AssistantPart, { id }: ResponseContext, index: number, names: ToolNames): string {
  const signature = part.type === 'reasoning' ? part.signature : undefined;
  if (signature?.api === 'responses' && signature.id !== undefined) return signature.id;
  const isCustom = part.type === 'tool-call' && names.isCustom(part);
  return `${isCustom ? 'ctc' : idPrefixes[part.type]}_${id}${index}`;
}

/** Which tools of the request are custom ones or in a namespace: other APIs have neither. */
class ToolNames {
  readonly #custom: ReadonlySet<string>;
  readonly #namespaces: ReadonlyMap<string, string>;

  constructor({ conversation, request }: Pick<ResponseContext, 'conversation' | 'request'>) {
    this.#custom = new Set(
      conversation.tools.flatMap(({ name, isCustom }) => (isCustom === true ? name : [])),
    );
    const listed = [
      ...objectsIn(request['tools']),
      ...objectsIn(request['input']).flatMap((item) => objectsIn(item['tools'])),
    ];
    this.#namespaces = new Map(
      listed.flatMap((tool) => {
        const namespace = textIn(tool['name']);
        if (tool['type'] !== 'namespace' || namespace === undefined) return [];
        return objectsIn(tool['tools']).map(
          (inner) => [`${namespace}__${textIn(inner['name']) ?? ''}`, namespace] as const,
        );
      }),
    );
  }

  isCustom({ name, isCustom }: ToolCallPart): boolean {
    return isCustom === true || this.#custom.has(name);
  }

  split(qualified: string): { readonly name: string; readonly namespace?: string } {
    const namespace = this.#namespaces.get(qualified);
    return namespace === undefined
      ? { name: qualified }
      : { name: qualified.slice(namespace.length + 2), namespace };
  }
}

/** A whole item. */
function encodeItem(part: AssistantPart, id: string, names: ToolNames): OutputItem {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { id, type: 'message', role: 'assistant', status: 'completed', content: [encodeContent(part)] };
    case 'reasoning':
      return {
        id,
        type: 'reasoning',
        summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }],
        // It belongs to the id that came with it, which is known too late for the first event of the item.
        encrypted_content: writeSignature(
          part.signature,
          (part.signature?.id ?? id) === id ? 'responses' : 'chat',
        ),
      };
    case 'tool-call': {
      const common = { id, call_id: part.id, ...names.split(part.name) };
      return names.isCustom(part)
        ? { ...common, type: 'custom_tool_call', input: asCustomCall(part).arguments }
        : {
            ...common,
            type: 'function_call',
            status: 'completed',
            arguments: part.arguments === '' ? '{}' : part.arguments,
          };
    }
    case 'image':
      return {
        id,
        type: 'image_generation_call',
        status: 'completed',
        result: 'data' in part.source ? part.source.data : part.source.url,
      };
    default: {
      const text = 'url' in part.source ? part.source.url : dataUrl(part.source);
      return {
        id,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [encodeContent({ type: 'text', text })],
      };
    }
  }
}

type ContentPart = OpenAI.Responses.ResponseOutputText | OpenAI.Responses.ResponseOutputRefusal;

function encodeContent(part: Extract<AssistantPart, { readonly type: 'text' | 'refusal' }>): ContentPart {
  if (part.type === 'refusal') return { type: 'refusal', refusal: part.text };
  const { text, citations = [] } = part;
  return {
    type: 'output_text',
    text,
    annotations: citations.map(({ url, title = '', start = 0, end = 0 }) => ({
      type: 'url_citation',
      url,
      title,
      start_index: start,
      end_index: end,
    })),
    logprobs: [],
  };
}

/** What an item begins as. */
function emptyItem(item: OutputItem): OutputItem {
  switch (item.type) {
    case 'message':
      return { ...item, status: 'in_progress', content: [] };
    case 'function_call':
      return { ...item, status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...item, input: '' };
    case 'reasoning':
      return { ...item, summary: [] };
    default:
      return item;
  }
}

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;
type Unnumbered<Event> = Event extends { readonly response: unknown }
  ? { readonly type: Event extends { readonly type: infer Type } ? Type : never; readonly response: Response }
  : Event extends StreamEvent
    ? Omit<Event, 'sequence_number'>
    : never;

interface StreamedItem {
  readonly id: string;
  readonly part: AssistantPart;
  readonly isCustom: boolean;
}

export class ResponsesEncoder implements StreamEncoder {
  readonly #context: ResponseContext;
  readonly #names: ToolNames;
  readonly #items = new Map<number, StreamedItem>();
  readonly #output: OutputItem[] = [];
  #model = '';
  #sequence = 0;

  constructor(context: ResponseContext) {
    this.#context = context;
    this.#names = new ToolNames(context);
  }

  write(event: CompletionEvent): string {
    switch (event.type) {
      case 'start': {
        this.#model = event.model;
        const response = responseOf(this.#context, event.model);
        return (
          this.#event({ type: 'response.created', response }) +
          this.#event({ type: 'response.in_progress', response })
        );
      }
      case 'part':
        return this.#begin(event.index, event.part);
      case 'delta':
        return this.#delta(event.index, event.text);
      case 'part-end':
        return this.#end(event.index, event.part);
      case 'finish':
        return this.#finish(event.completion);
      default:
        return event satisfies never;
    }
  }

  #begin(index: number, part: AssistantPart): string {
    const id = itemId(part, this.#context, index, this.#names);
    const isCustom = part.type === 'tool-call' && this.#names.isCustom(part);
    this.#items.set(index, { id, part, isCustom });
    const at = { item_id: id, output_index: index };
    const item = emptyItem(encodeItem(part, id, this.#names));
    let text = this.#event({ type: 'response.output_item.added', output_index: index, item });
    if (part.type === 'text' || part.type === 'refusal')
      text += this.#event({
        type: 'response.content_part.added',
        ...at,
        content_index: 0,
        part: encodeContent({ type: part.type, text: '' }),
      });
    else if (part.type === 'reasoning')
      text += this.#event({
        type: 'response.reasoning_summary_part.added',
        ...at,
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      });
    return text;
  }

  #delta(index: number, delta: string): string {
    const item = this.#items.get(index);
    // The input of a custom tool is inside the arguments of the function that stands for it: known at its end.
    if (!item || item.isCustom) return '';
    const at = { item_id: item.id, output_index: index };
    switch (item.part.type) {
      case 'text':
        return this.#event({
          type: 'response.output_text.delta',
          ...at,
          content_index: 0,
          delta,
          logprobs: [],
        });
      case 'refusal':
        return this.#event({ type: 'response.refusal.delta', ...at, content_index: 0, delta });
      case 'reasoning':
        return this.#event({ type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta });
      case 'tool-call':
        return this.#event({ type: 'response.function_call_arguments.delta', ...at, delta });
      default:
        return '';
    }
  }

  #end(index: number, part: AssistantPart): string {
    const id = this.#items.get(index)?.id ?? itemId(part, this.#context, index, this.#names);
    const item = encodeItem(part, id, this.#names);
    this.#output[index] = item;
    const at = { item_id: id, output_index: index };
    return (
      this.#contentEnd(part, item, at) +
      this.#event({ type: 'response.output_item.done', output_index: index, item })
    );
  }

  #contentEnd(
    part: AssistantPart,
    item: OutputItem,
    at: { readonly item_id: string; readonly output_index: number },
  ): string {
    if (part.type === 'text' || part.type === 'refusal') {
      const { text } = part;
      const done: Unnumbered<StreamEvent> =
        part.type === 'text'
          ? { type: 'response.output_text.done', ...at, content_index: 0, text, logprobs: [] }
          : { type: 'response.refusal.done', ...at, content_index: 0, refusal: text };
      const content = encodeContent(part);
      return (
        this.#event(done) +
        this.#event({ type: 'response.content_part.done', ...at, content_index: 0, part: content })
      );
    }
    if (part.type === 'reasoning')
      return (
        this.#event({
          type: 'response.reasoning_summary_text.done',
          ...at,
          summary_index: 0,
          text: part.text,
        }) +
        this.#event({
          type: 'response.reasoning_summary_part.done',
          ...at,
          summary_index: 0,
          part: { type: 'summary_text', text: part.text },
        })
      );
    if (item.type === 'function_call')
      return this.#event({
        type: 'response.function_call_arguments.done',
        ...at,
        arguments: item.arguments,
      });
    if (item.type === 'custom_tool_call')
      return (
        this.#event({ type: 'response.custom_tool_call_input.delta', ...at, delta: item.input }) +
        this.#event({ type: 'response.custom_tool_call_input.done', ...at, input: item.input })
      );
    return '';
  }

  #finish(completion: Completion): string {
    const response = responseOf(this.#context, this.#model, { output: this.#output, completion });
    return this.#event(
      response.status === 'incomplete'
        ? { type: 'response.incomplete', response }
        : { type: 'response.completed', response },
    );
  }

  #event(event: Unnumbered<StreamEvent>): string {
    const numbered = { ...event, sequence_number: this.#sequence++ };
    return `event: ${event.type}\ndata: ${JSON.stringify(numbered)}\n\n`;
  }
}
