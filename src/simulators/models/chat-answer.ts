// A chat completion as JSON, and the same as the events of a stream.
import type { ChatRequest, Speech } from './speech.ts';
import { tokensIn } from './speech.ts';

export interface ChatAnswerParts {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly request: ChatRequest;
  readonly speech: Speech;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export function usageOf(request: ChatRequest, speech: Speech): Usage {
  const prompt_tokens = tokensIn(JSON.stringify(request.messages ?? []));
  const completion_tokens = tokensIn('text' in speech ? speech.text : speech.tool.arguments);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

export function completionOf(parts: ChatAnswerParts, finish?: string): object {
  const { id, created, model, request, speech } = parts;
  const message =
    'text' in speech
      ? { role: 'assistant', content: speech.text }
      : {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: `call_${id}`, type: 'function', function: speech.tool }],
        };
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, finish_reason: finish ?? finishOf(speech), logprobs: null }],
    usage: usageOf(request, speech),
  };
}

const finishOf = (speech: Speech): string => ('text' in speech ? 'stop' : 'tool_calls');

const eventOf = (data: object | string): string =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

/** The role, then the content word by word, the end, the usage if asked for, and [DONE]. */
export function eventsOf(parts: ChatAnswerParts): readonly string[] {
  const { id, created, model, request, speech } = parts;
  const chunk = (choices: readonly object[], more: object = {}) =>
    eventOf({ id, object: 'chat.completion.chunk', created, model, choices, ...more });
  const delta = (value: object, finish: string | null = null) =>
    chunk([{ index: 0, delta: value, finish_reason: finish }]);
  const wantsUsage = request.stream_options?.include_usage === true;
  return [
    delta({ role: 'assistant', content: '' }),
    ...contentDeltas(id, speech).map((value) => delta(value)),
    delta({}, finishOf(speech)),
    ...(wantsUsage ? [chunk([], { usage: usageOf(request, speech) })] : []),
    eventOf('[DONE]'),
  ];
}

function contentDeltas(id: string, speech: Speech): readonly object[] {
  if ('text' in speech) return (speech.text.match(/\S+\s*|\s+/g) ?? []).map((content) => ({ content }));
  const { name, arguments: text } = speech.tool;
  const call = (more: object) => ({ tool_calls: [{ index: 0, ...more }] });
  const half = Math.ceil(text.length / 2);
  return [
    call({ id: `call_${id}`, type: 'function', function: { name, arguments: '' } }),
    call({ function: { arguments: text.slice(0, half) } }),
    call({ function: { arguments: text.slice(half) } }),
  ];
}
