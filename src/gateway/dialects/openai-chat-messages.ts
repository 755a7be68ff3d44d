// Messages of OpenAI's chat completions, the same in requests and responses.
import type {
  AssistantPart,
  MediaPart,
  ReasoningPart,
  Signature,
  TextPart,
  ToolCallPart,
} from './conversation.ts';
import { asFunctionCall } from './conversation.ts';
import type { JsonObject } from './json.ts';
import { asObject, dataUrl, objectsIn, parseDataUrl, textIn } from './json.ts';

/* ---- decoding ---- */

/** `content` as text or as parts; parts of other kinds are native features. */
export function decodeContent(content: unknown, at: string, native: string[]): readonly AssistantPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return objectsIn(content).flatMap((part, index) => decodePart(part, `${at}[${index}]`, native));
}

function decodePart(part: JsonObject, at: string, native: string[]): readonly AssistantPart[] {
  const type = part['type'];
  const cacheControl = asObject(part['cache_control']);
  const cacheable = cacheControl && { cacheControl };
  if (type === 'text') return [{ type, text: textIn(part['text']) ?? '', ...cacheable }];
  if (type === 'refusal') return [{ type, text: textIn(part['refusal']) ?? '' }];
  // Mistral: a list of texts.
  if (type === 'thinking') return [{ type: 'reasoning', text: textOfParts(part['thinking']) }];
  if (type === 'image_url') {
    const image = asObject(part['image_url']);
    const url = textIn(image?.['url']) ?? textIn(part['image_url']);
    const detail = textIn(image?.['detail']);
    if (url !== undefined)
      return [
        { type: 'image', source: mediaSource(url), ...(detail !== undefined && { detail }), ...cacheable },
      ];
  }
  if (type === 'input_audio') {
    const { data, format } = asObject(part['input_audio']) ?? {};
    if (typeof data === 'string' && typeof format === 'string')
      return [{ type: 'audio', source: { mediaType: `audio/${format}`, data } }];
  }
  if (type === 'file') {
    const file = asObject(part['file']);
    const data = textIn(file?.['file_data']);
    const name = textIn(file?.['filename']);
    if (data !== undefined)
      return [{ type: 'file', source: mediaSource(data), ...(name !== undefined && { name }), ...cacheable }];
  }
  native.push(`${at} (${String(type)})`);
  return [];
}

/** A URL, or the content of a data URL. */
export const mediaSource = (url: string): MediaPart['source'] => parseDataUrl(url) ?? { url };

const textOfParts = (parts: unknown): string =>
  typeof parts === 'string'
    ? parts
    : objectsIn(parts)
        .map((part) => textIn(part['text']) ?? '')
        .join('');

export function decodeAssistant(message: JsonObject, at: string, native: string[]): readonly AssistantPart[] {
  if (asObject(message['audio'])) native.push(`${at}.audio`);
  if (asObject(message['function_call'])) native.push(`${at}.function_call`);
  const refusal = textIn(message['refusal']);
  return [
    ...decodeReasoning(message),
    ...decodeContent(message['content'], `${at}.content`, native),
    ...(refusal ? [{ type: 'refusal' as const, text: refusal }] : []),
    ...imagesIn(message),
    ...objectsIn(message['tool_calls']).map(decodeToolCall),
  ];
}

/** Images that models generate, in the fields of OpenRouter and Gemini. */
export function imagesIn(message: JsonObject): readonly MediaPart[] {
  return objectsIn(message['images']).flatMap((image) => {
    const url = textIn(asObject(image['image_url'])?.['url']);
    return url === undefined ? [] : [{ type: 'image' as const, source: mediaSource(url) }];
  });
}

export function decodeToolCall(call: JsonObject): ToolCallPart {
  const fn = asObject(call['function']);
  const custom = asObject(call['custom']);
  const signature = googleSignature(call);
  return {
    type: 'tool-call',
    id: textIn(call['id']) ?? '',
    name: textIn((fn ?? custom)?.['name']) ?? '',
    arguments: custom ? (textIn(custom['input']) ?? '') : argumentsOf(fn?.['arguments']),
    ...(custom && { isCustom: true }),
    ...(signature && { signature }),
  };
}

/** A string of JSON, which some providers send as an object. */
export const argumentsOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** Where Gemini's OpenAI-compatible API has its thought signatures. */
function googleSignature(call: JsonObject): Signature | undefined {
  const google = asObject(asObject(call['extra_content'])?.['google']);
  const data = textIn(google?.['thought_signature']);
  return data === undefined ? undefined : { api: 'gemini', data };
}

/** OpenRouter's `reasoning_details` have the signatures; other providers send only text. */
export function decodeReasoning(message: JsonObject): readonly ReasoningPart[] {
  const details = objectsIn(message['reasoning_details']);
  if (details.length > 0) return details.map(decodeReasoningDetail);
  const text = textIn(message['reasoning_content']) ?? textIn(message['reasoning']) ?? '';
  return text === '' ? [] : [{ type: 'reasoning', text }];
}

function decodeReasoningDetail(detail: JsonObject): ReasoningPart {
  const data = textIn(detail['signature']) ?? textIn(detail['data']);
  const format = textIn(detail['format']) ?? '';
  const id = textIn(detail['id']);
  const api = format.startsWith('openai') ? 'responses' : format.startsWith('google') ? 'gemini' : 'messages';
  const isSummary = detail['type'] === 'reasoning.summary';
  return {
    type: 'reasoning',
    text: textIn(detail['text']) ?? textIn(detail['summary']) ?? '',
    ...(isSummary && { isSummary }),
    ...(data !== undefined && {
      signature: {
        api,
        data,
        ...(id !== undefined && { id }),
        ...(detail['type'] === 'reasoning.encrypted' && api === 'messages' && { isRedacted: true }),
      },
    }),
  };
}

/* ---- media, for estimates ---- */

/** How many images and other media the messages contain, and the characters of their data, which is not text. */
export function mediaIn(messages: readonly JsonObject[]): {
  readonly count: number;
  readonly images: number;
  readonly characters: number;
} {
  let count = 0;
  let images = 0;
  let characters = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content as readonly unknown[]) {
      const data = mediaData(part);
      if (data === undefined) continue;
      count += 1;
      characters += data.length;
      if (isImage(part)) images += 1;
    }
  }
  return { count, images, characters };
}

const isImage = (part: unknown): boolean => {
  const type = asObject(part)?.['type'];
  return type === 'image_url' || type === 'input_image';
};

/** The URL or the base64 of a media part; undefined for other parts. */
function mediaData(part: unknown): string | undefined {
  const { type, image_url: image, input_audio: audio, file } = asObject(part) ?? {};
  if (type === 'image_url' || type === 'input_image') return textIn(asObject(image)?.['url'] ?? image) ?? '';
  if (type === 'input_audio') return textIn(asObject(audio)?.['data']) ?? '';
  return type === 'file' ? (textIn(asObject(file)?.['file_data']) ?? '') : undefined;
}

/* ---- encoding ---- */

/** Text alone as one string: many servers accept nothing else. */
export function encodeContent(parts: readonly (TextPart | MediaPart)[]): string | readonly JsonObject[] {
  return parts.every((part) => part.type === 'text')
    ? parts.map(({ text }) => text).join('\n\n')
    : parts.map(encodePart);
}

export function encodePart(part: TextPart | MediaPart): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { source, detail, name } = part;
  const url = 'url' in source ? source.url : dataUrl(source);
  switch (part.type) {
    case 'image':
      return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } };
    case 'audio':
      return 'url' in source
        ? { type: 'text', text: url }
        : {
            type: 'input_audio',
            input_audio: { data: source.data, format: source.mediaType.replace('audio/', '') },
          };
    default:
      return { type: 'file', file: { filename: name ?? 'file', file_data: url } };
  }
}

export function encodeAssistant(parts: readonly AssistantPart[]): JsonObject {
  const textOfKind = (kind: AssistantPart['type']) =>
    parts.map((part) => (part.type === kind && 'text' in part ? part.text : '')).join('');
  const calls = parts.filter((part) => part.type === 'tool-call').map(encodeToolCall);
  const content = textOfKind('text');
  const refusal = textOfKind('refusal');
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...reasoningFields(parts.filter((part) => part.type === 'reasoning')),
    ...(refusal !== '' && { refusal }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** The text for models that need it back, and OpenRouter's form of it where there are signatures. */
function reasoningFields(parts: readonly ReasoningPart[]): JsonObject {
  const text = parts.map((part) => part.text).join('');
  const details = parts.flatMap((part, index) => encodeReasoningDetail(part, index));
  return {
    ...(text !== '' && { reasoning_content: text }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

const reasoningFormats = {
  messages: 'anthropic-claude-v1',
  responses: 'openai-responses-v1',
  gemini: 'google-gemini-v1',
} as const;

export function encodeReasoningDetail(
  { text, signature, isSummary }: ReasoningPart,
  index: number,
): readonly JsonObject[] {
  if (!signature) return [];
  const { api, data, id, isRedacted } = signature;
  const common = { format: reasoningFormats[api], index, ...(id !== undefined && { id }) };
  if (text === '' && (api !== 'messages' || isRedacted === true))
    return [{ type: 'reasoning.encrypted', data, ...common }];
  return isSummary
    ? [{ type: 'reasoning.summary', summary: text, data, ...common }]
    : [{ type: 'reasoning.text', text, signature: data, ...common }];
}

export function encodeToolCall(part: ToolCallPart): JsonObject {
  const { id, name, arguments: given, signature } = asFunctionCall(part);
  return {
    id,
    type: 'function',
    function: { name, arguments: given === '' ? '{}' : given },
    ...(signature?.api === 'gemini' && {
      extra_content: { google: { thought_signature: signature.data } },
    }),
  };
}
