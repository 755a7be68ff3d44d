// OpenAI's Responses: requests from callers and to providers.
import type {
  AssistantPart,
  Conversation,
  MediaPart,
  Message,
  TextPart,
  Tool,
  ToolChoice,
  ToolResultPart,
} from './conversation.ts';
import { asFunctionTool, isTranslatedSignature, isUserPart } from './conversation.ts';
import type { Dialect, EncodeTarget } from './dialect.ts';
import { invalidField } from './dialect.ts';
import { effortOf, schemaFormat } from './openai-chat.ts';
import { mediaSource } from './openai-chat-messages.ts';
import {
  decodeReasoning,
  decodeResponse,
  encodeResponse,
  ResponsesDecoder,
  ResponsesEncoder,
} from './openai-responses-output.ts';
import { ResponsesRepair } from './openai-responses-repair.ts';
import type { JsonObject } from './json.ts';
import { asObject, booleanIn, dataUrl, numberIn, objectsIn, textIn, withoutUndefined } from './json.ts';

export const openAiResponses: Dialect = {
  path: () => '/responses',
  decodeRequest,
  unsupported,
  encodeRequest,
  withoutTranslatedReasoning,
  decodeResponse,
  encodeResponse,
  createDecoder: () => new ResponsesDecoder(),
  createRepair: (context, usage) => new ResponsesRepair(context, usage),
  createEncoder: (context) => new ResponsesEncoder(context),
};

/* ---- requests from callers ---- */

function decodeRequest(json: JsonObject): Conversation {
  const native = nativeFields(json);
  const instructions = textIn(json['instructions']) ?? '';
  const items = inputItems(json['input']);
  if (items.length === 0 && instructions === '' && native.length === 0)
    throw invalidField('input', 'must be text or a list with at least one item');
  const text = asObject(json['text']);
  const reasoning = asObject(json['reasoning']);
  const tools = [
    ...objectsIn(json['tools']).map((tool, index) => ({ tool, at: `tools[${index}]` })),
    ...items.flatMap((item, index) =>
      item['type'] === 'additional_tools'
        ? objectsIn(item['tools']).map((tool, at) => ({ tool, at: `input[${index}].tools[${at}]` }))
        : [],
    ),
  ];
  return withoutUndefined({
    messages: [
      ...(instructions === '' ? [] : [systemMessage([{ type: 'text', text: instructions }])]),
      ...items.flatMap((item, index) => decodeItem(item, `input[${index}]`, native)),
    ],
    tools: tools.flatMap(({ tool, at }) => decodeTool(tool, at, native)),
    toolChoice: decodeToolChoice(json['tool_choice'], native),
    parallelToolCalls: booleanIn(json['parallel_tool_calls']),
    maxTokens: numberIn(json['max_output_tokens']),
    temperature: numberIn(json['temperature']),
    topP: numberIn(json['top_p']),
    reasoning: reasoning && decodeReasoningOptions(reasoning),
    format: decodeFormat(asObject(text?.['format'])),
    verbosity: textIn(text?.['verbosity']),
    user: textIn(json['safety_identifier']) ?? textIn(json['user']),
    serviceTier: textIn(json['service_tier']),
    cacheKey: textIn(json['prompt_cache_key']),
    isStream: json['stream'] === true,
    includeUsage: true,
    nativeFeatures: native,
    unknownFields: {},
  });
}

const systemMessage = (parts: readonly TextPart[]): Message => ({ role: 'system', parts });

/** `input` as items; a text is a message of the user. */
export function inputItems(input: unknown): readonly JsonObject[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  if (input === undefined || input === null) return [];
  if (!Array.isArray(input)) throw invalidField('input', 'must be text or a list of items');
  for (const [index, item] of (input as readonly unknown[]).entries())
    if (!asObject(item)) throw invalidField(`input[${index}]`, 'must be an object');
  return input as readonly JsonObject[];
}

const logprobs = 'message.output_text.logprobs';

/** Of these the provider keeps state, runs tools or reports more than text. */
function nativeFields(json: JsonObject): string[] {
  const native: string[] = [];
  if (json['background'] === true) native.push('background');
  for (const name of ['conversation', 'prompt', 'previous_response_id'])
    if (json[name] !== undefined && json[name] !== null) native.push(name);
  if (Number(json['top_logprobs'] ?? 0) > 0) native.push('top_logprobs');
  const { include } = json;
  if (Array.isArray(include) && include.includes(logprobs)) native.push(`include (${logprobs})`);
  return native;
}

function decodeItem(item: JsonObject, at: string, native: string[]): readonly Message[] {
  const type = textIn(item['type']) ?? 'message';
  switch (type) {
    case 'message':
      return [decodeMessage(item, at, native)];
    case 'function_call':
    case 'custom_tool_call':
      return [
        {
          role: 'assistant',
          parts: [
            {
              type: 'tool-call',
              id: textIn(item['call_id']) ?? '',
              name: qualifiedName(item),
              arguments: textIn(item[type === 'function_call' ? 'arguments' : 'input']) ?? '',
              ...(type === 'custom_tool_call' && { isCustom: true }),
            },
          ],
        },
      ];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ role: 'tool', parts: [decodeOutput(item, at, native)] }];
    case 'reasoning': {
      const part = decodeReasoning(item);
      return part ? [{ role: 'assistant', parts: [part] }] : [];
    }
    // Its tools are offered from the start.
    case 'additional_tools':
      return [];
    default:
      native.push(`${at} (${type})`);
      return [];
  }
}

/** Tools in a namespace are offered with it as a prefix: other APIs have no namespaces. */
export const qualifiedName = (tool: JsonObject): string => {
  const namespace = textIn(tool['namespace']);
  const name = textIn(tool['name']) ?? '';
  return namespace === undefined ? name : `${namespace}__${name}`;
};

function decodeMessage(item: JsonObject, at: string, native: string[]): Message {
  const parts = decodeContent(item['content'], `${at}.content`, native);
  switch (item['role']) {
    case 'assistant':
      return { role: 'assistant', parts };
    case 'system':
    case 'developer':
      return systemMessage(parts.filter((part) => part.type === 'text'));
    case 'user':
      return { role: 'user', parts: parts.filter(isUserPart) };
    default:
      throw invalidField(`${at}.role`, 'must be user, assistant, system or developer');
  }
}

function decodeContent(content: unknown, at: string, native: string[]): readonly AssistantPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw invalidField(at, 'must be text or a list of parts');
  return (content as readonly unknown[]).flatMap((given, index) => {
    const part = asObject(given);
    if (!part) throw invalidField(`${at}[${index}]`, 'must be an object with a type');
    return decodePart(part, `${at}[${index}]`, native);
  });
}

function decodePart(part: JsonObject, at: string, native: string[]): readonly AssistantPart[] {
  const { type } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return [{ type: 'text', text: textIn(part['text']) ?? '' }];
    case 'refusal':
      return [{ type, text: textIn(part['refusal']) ?? '' }];
    case 'input_image': {
      const url = textIn(part['image_url']);
      const detail = textIn(part['detail']);
      if (url === undefined) break;
      return [{ type: 'image', source: mediaSource(url), ...(detail !== undefined && { detail }) }];
    }
    case 'input_file': {
      const data = textIn(part['file_data']) ?? textIn(part['file_url']);
      const name = textIn(part['filename']);
      if (data === undefined) break;
      return [{ type: 'file', source: mediaSource(data), ...(name !== undefined && { name }) }];
    }
    case 'input_audio': {
      const { data, format } = asObject(part['input_audio']) ?? {};
      if (typeof data !== 'string' || typeof format !== 'string') break;
      return [{ type: 'audio', source: { mediaType: `audio/${format}`, data } }];
    }
    default:
  }
  native.push(`${at} (${String(type)})`);
  return [];
}

function decodeOutput(item: JsonObject, at: string, native: string[]): ToolResultPart {
  return {
    type: 'tool-result',
    callId: textIn(item['call_id']) ?? '',
    content: decodeContent(item['output'] ?? '', `${at}.output`, native).filter(isUserPart),
    ...(item['type'] === 'custom_tool_call_output' && { isCustom: true }),
  };
}

function decodeTool(tool: JsonObject, at: string, native: string[]): readonly Tool[] {
  const { type } = tool;
  const name = textIn(tool['name']);
  if (type === 'namespace' && name !== undefined)
    return objectsIn(tool['tools']).flatMap((inner, index) =>
      decodeTool({ ...inner, namespace: name }, `${at}.tools[${index}]`, native),
    );
  if ((type !== 'function' && type !== 'custom') || name === undefined) {
    native.push(`${at} (${String(type)})`);
    return [];
  }
  return [
    withoutUndefined({
      name: qualifiedName(tool),
      description: textIn(tool['description']),
      parameters: asObject(tool['parameters']),
      isStrict: booleanIn(tool['strict']),
      isCustom: type === 'custom' ? true : undefined,
      format: asObject(tool['format']),
    }),
  ];
}

function decodeToolChoice(choice: unknown, native: string[]): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice };
  const given = asObject(choice);
  if (!given) return undefined;
  const name = textIn(given['name']);
  if ((given['type'] === 'function' || given['type'] === 'custom') && name !== undefined)
    return { type: 'tool', name };
  native.push(`tool_choice (${String(given['type'])})`);
  return undefined;
}

function decodeReasoningOptions(reasoning: JsonObject): Conversation['reasoning'] {
  const [effort, summary] = [textIn(reasoning['effort']), textIn(reasoning['summary'])];
  return effort === undefined && summary === undefined ? undefined : withoutUndefined({ effort, summary });
}

function decodeFormat(format: JsonObject | undefined): Conversation['format'] {
  if (format?.['type'] === 'json_object') return { type: 'json' };
  return format?.['type'] === 'json_schema' ? schemaFormat(format) : undefined;
}

/* ---- requests to providers ---- */

function unsupported({ nativeFeatures, messages, stop }: Conversation): readonly string[] {
  const hasAudio = messages.some(({ parts }) => parts.some(({ type }) => type === 'audio'));
  return [...nativeFeatures, ...(hasAudio ? ['audio input'] : []), ...(stop ? ['stop'] : [])];
}

function withoutTranslatedReasoning(json: JsonObject): JsonObject {
  const { input } = json;
  if (!Array.isArray(input)) return json;
  const isTranslated = (item: unknown) => {
    const { type, encrypted_content } = asObject(item) ?? {};
    return type === 'reasoning' && isTranslatedSignature(encrypted_content);
  };
  return { ...json, input: input.filter((item) => !isTranslated(item)) };
}

/** The least that the API accepts. */
const minOutputTokens = 16;

function encodeRequest(conversation: Conversation, target: EncodeTarget): JsonObject {
  const { tools, reasoning, format, verbosity, maxTokens, isStream } = conversation;
  const { upstreamModel, supportsReasoning, maxOutputTokens } = target;
  const effort = effortOf(reasoning);
  return withoutUndefined({
    model: upstreamModel,
    input: conversation.messages.flatMap(encodeMessage),
    // Conversations are kept by the caller, or by this gateway.
    store: false,
    include: supportsReasoning ? ['reasoning.encrypted_content'] : undefined,
    tools: tools.length > 0 ? tools.map(encodeTool) : undefined,
    tool_choice: tools.length > 0 ? encodeToolChoice(conversation.toolChoice) : undefined,
    parallel_tool_calls: tools.length > 0 ? conversation.parallelToolCalls : undefined,
    max_output_tokens:
      maxTokens === undefined
        ? undefined
        : Math.max(minOutputTokens, Math.min(maxTokens, maxOutputTokens ?? maxTokens)),
    temperature: conversation.temperature,
    top_p: conversation.topP,
    reasoning:
      supportsReasoning && reasoning
        ? withoutUndefined({ effort, summary: reasoning.summary ?? 'auto' })
        : undefined,
    text:
      format || verbosity !== undefined
        ? withoutUndefined({ format: format && encodeFormat(format), verbosity })
        : undefined,
    safety_identifier: conversation.user,
    service_tier: conversation.serviceTier,
    prompt_cache_key: conversation.cacheKey,
    stream: isStream ? true : undefined,
  });
}

function encodeMessage(message: Message): readonly JsonObject[] {
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.parts.map(({ text }) => text).join('\n\n') }];
    case 'user':
      return [{ role: 'user', content: message.parts.map(encodePart) }];
    case 'assistant':
      return message.parts.flatMap(encodeAssistantPart);
    case 'tool':
      return message.parts.map(({ callId, content, isCustom }) => ({
        type: isCustom === true ? 'custom_tool_call_output' : 'function_call_output',
        call_id: callId,
        output: content.every((part) => part.type === 'text')
          ? content.map(({ text }) => text).join('\n')
          : content.map(encodePart),
      }));
    default:
      return message satisfies never;
  }
}

function encodePart(part: TextPart | MediaPart): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  const { source, detail = 'auto', name } = part;
  const url = 'url' in source ? source.url : dataUrl(source);
  if (part.type === 'image') return { type: 'input_image', image_url: url, detail };
  return 'url' in source
    ? { type: 'input_file', file_url: url }
    : { type: 'input_file', filename: name ?? 'file', file_data: url };
}

/** Reasoning of other APIs is left out: it would not be accepted. */
function encodeAssistantPart(part: AssistantPart): readonly JsonObject[] {
  switch (part.type) {
    case 'text':
      return [assistantMessage({ type: 'output_text', text: part.text, annotations: [] })];
    case 'refusal':
      return [assistantMessage({ type: 'refusal', refusal: part.text })];
    case 'tool-call': {
      const { id, name, arguments: given, isCustom } = part;
      return isCustom === true
        ? [{ type: 'custom_tool_call', call_id: id, name, input: given }]
        : [{ type: 'function_call', call_id: id, name, arguments: given === '' ? '{}' : given }];
    }
    case 'reasoning': {
      const { text, signature, isSummary } = part;
      if (signature?.api !== 'responses') return [];
      return [
        {
          type: 'reasoning',
          ...(signature.id !== undefined && { id: signature.id }),
          summary: isSummary === true && text !== '' ? [{ type: 'summary_text', text }] : [],
          encrypted_content: signature.data,
        },
      ];
    }
    default:
      return [assistantMessage({ type: 'output_text', text: `[${part.type}]`, annotations: [] })];
  }
}

const assistantMessage = (part: JsonObject): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [part],
});

function encodeTool(tool: Tool): JsonObject {
  if (tool.isCustom === true) {
    const { name, description, format } = tool;
    return withoutUndefined({ type: 'custom', name, description, format });
  }
  const { name, description, parameters, isStrict } = asFunctionTool(tool);
  return withoutUndefined({
    type: 'function',
    name,
    description,
    parameters: parameters ?? { type: 'object', properties: {} },
    // The API's own default is true, unlike that of the others.
    strict: isStrict ?? false,
  });
}

function encodeToolChoice(choice: ToolChoice | undefined): unknown {
  if (!choice) return undefined;
  return choice.type === 'tool' ? { type: 'function', name: choice.name } : choice.type;
}

function encodeFormat(format: NonNullable<Conversation['format']>): JsonObject {
  if (format.type === 'json') return { type: 'json_object' };
  const { name = 'response', description, schema, isStrict } = format;
  return withoutUndefined({ type: 'json_schema', name, description, schema, strict: isStrict });
}
