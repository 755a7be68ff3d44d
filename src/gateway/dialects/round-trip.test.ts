// There and back: what an API has in common with the internal form survives being written in it and read again.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventsOf } from './completion-builder.ts';
import type {
  AssistantPart,
  Completion,
  Conversation,
  MediaPart,
  Message,
  ReasoningPart,
  TextPart,
} from './conversation.ts';
import type { Dialect, ResponseContext } from './dialect.ts';
import { dialectOf } from './parse-request.ts';
import { SseSplitter } from './wire.ts';

const apis = ['chat', 'responses', 'messages'] as const;
type Api = (typeof apis)[number];

/* ---- generated conversations ---- */

const text = fc
  .oneof(fc.string({ minLength: 1 }), fc.constantFrom('héllo', '日本', '"quoted"\n', '{"a":1}', '[DONE]'))
  .map((given) => given.trim())
  .filter((given) => given !== '');
const textPart: fc.Arbitrary<TextPart> = text.map((given) => ({ type: 'text', text: given }));
const image: fc.Arbitrary<MediaPart> = fc.constantFrom<MediaPart>(
  { type: 'image', source: { mediaType: 'image/png', data: 'iVBORw0KGgo=' } },
  { type: 'image', source: { url: 'https://example.com/cat.png' } },
);
const name = fc.constantFrom('read', 'write_file', 'search-web');
const args = fc.dictionary(fc.constantFrom('a', 'b', 'path'), fc.oneof(text, fc.integer(), fc.boolean()), {
  maxKeys: 3,
});

/** Reasoning with the signature of the API, which only that API can return. */
const reasoning = (api: Api): fc.Arbitrary<ReasoningPart> =>
  text.map((given) =>
    api === 'chat'
      ? { type: 'reasoning', text: given }
      : {
          type: 'reasoning',
          text: given,
          ...(api === 'responses' && { isSummary: true }),
          signature: { api, data: 'S1gned', ...(api === 'responses' && { id: 'rs_1' }) },
        },
  );

/** A turn: the user, then perhaps the assistant with calls and their results. */
const turn = (api: Api, number: number): fc.Arbitrary<readonly Message[]> =>
  fc
    .record({
      user: fc.array(fc.oneof(textPart, image), { minLength: 1, maxLength: 3 }),
      thought: fc.option(reasoning(api), { nil: undefined }),
      textBefore: fc.option(textPart, { nil: undefined }),
      calls: fc.array(fc.record({ name, args, result: text, isError: fc.boolean() }), { maxLength: 3 }),
      hasAnswer: fc.boolean(),
    })
    .map(({ user, thought, textBefore, calls, hasAnswer }) => {
      const userMessage: Message = { role: 'user', parts: joinTexts(user) };
      const parts: AssistantPart[] = [
        ...(thought ? [thought] : []),
        ...(textBefore ? [textBefore] : []),
        ...calls.map((call, index) => ({
          type: 'tool-call' as const,
          id: `call_${number}_${index}`,
          name: call.name,
          arguments: JSON.stringify(call.args),
        })),
      ];
      if (!hasAnswer || (calls.length === 0 && !textBefore)) return [userMessage];
      const assistant: Message = { role: 'assistant', parts };
      if (calls.length === 0) return [userMessage, assistant];
      const results = calls.map((call, index) => ({
        type: 'tool-result' as const,
        callId: `call_${number}_${index}`,
        content: [{ type: 'text' as const, text: call.result }],
        ...(call.isError && api === 'messages' && { isError: true }),
      }));
      return [userMessage, assistant, { role: 'tool', parts: results }];
    });

/** Only parts that stand apart in every API: chat writes texts without media as one. */
function joinTexts(parts: readonly (TextPart | MediaPart)[]): readonly (TextPart | MediaPart)[] {
  return parts.some(({ type }) => type !== 'text') ? parts : parts.slice(0, 1);
}

const conversation = (api: Api): fc.Arbitrary<Conversation> =>
  fc
    .record({
      system: fc.option(textPart, { nil: undefined }),
      turns: fc
        .integer({ min: 1, max: 4 })
        .chain((count) => fc.tuple(...Array.from({ length: count }, (_, number) => turn(api, number)))),
      toolChoice: fc.constantFrom(
        { type: 'auto' as const },
        { type: 'none' as const },
        { type: 'required' as const },
        { type: 'tool' as const, name: 'read' },
      ),
      maxTokens: fc.integer({ min: 16, max: 100_000 }),
      temperature: fc.double({ min: 0, max: 1, noNaN: true }),
      isStream: fc.boolean(),
      hasSchema: fc.boolean(),
      isSequential: fc.boolean(),
    })
    .map(({ system, turns, toolChoice, maxTokens, temperature, isStream, hasSchema, isSequential }) => ({
      messages: [
        ...(system ? [{ role: 'system' as const, parts: [system] }] : []),
        ...joinUsers(turns.flat()),
      ],
      tools: [
        {
          name: 'read',
          description: 'Reads.',
          parameters: { type: 'object', properties: { path: { type: 'string' } } },
        },
      ],
      toolChoice,
      ...(isSequential && toolChoice.type !== 'none' && { parallelToolCalls: false }),
      maxTokens,
      temperature,
      ...(hasSchema && { format: { type: 'schema' as const, schema: { type: 'object' } } }),
      isStream,
      includeUsage: true,
      nativeFeatures: [],
      unknownFields: {},
    }));

/** Two messages of the user in a row are one in some APIs. */
function joinUsers(messages: readonly Message[]): readonly Message[] {
  return messages.filter(({ role }, index) => role !== 'user' || messages[index + 1]?.role !== 'user');
}

const target = { upstreamModel: 'm', maxOutputTokens: null, supportsReasoning: true };
const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** What differs in notation only: assistant items stand alone in Responses, images get a detail, formats a name. */
function normalized({ messages, format, tools, includeUsage: _usage, ...rest }: Conversation) {
  const joined: { role: string; parts: unknown[] }[] = [];
  for (const { role, parts } of messages) {
    const last = joined.at(-1);
    const plain = (parts as readonly AssistantPart[]).map((part) =>
      part.type === 'image' ? { ...part, detail: undefined } : part,
    );
    if (last && last.role === role && role !== 'user') last.parts.push(...plain);
    else joined.push({ role, parts: plain });
  }
  return json({
    ...rest,
    messages: joined,
    tools: tools.map(({ isStrict: _strict, ...tool }) => tool),
    format: format?.type === 'schema' ? format.schema : format,
  });
}

describe.each(apis)('a conversation written in the %s API', (api) => {
  it('is read back as it was', () => {
    fc.assert(
      fc.property(conversation(api), (given) => {
        const dialect = dialectOf(api);
        expect(dialect.unsupported(given)).toEqual([]);
        const back = dialect.decodeRequest(json(dialect.encodeRequest(given, target)));
        expect(normalized(back)).toEqual(normalized(given));
      }),
      { numRuns: 200 },
    );
  });

  it.each(apis.filter((other) => other !== api))('is the same after a way through %s', (other) => {
    const without = (given: Conversation): Conversation => ({
      ...given,
      // Reasoning belongs to the API that signed it; errors of results to Messages.
      messages: given.messages.map((message) => withoutOwn(message)),
    });
    fc.assert(
      fc.property(conversation(api).map(without), (given) => {
        const [one, two] = [dialectOf(api), dialectOf(other)];
        const there = two.decodeRequest(json(two.encodeRequest(given, target)));
        const back = one.decodeRequest(json(one.encodeRequest(there, target)));
        expect(normalized(back)).toEqual(normalized(given));
      }),
      { numRuns: 100 },
    );
  });
});

function withoutOwn(message: Message): Message {
  if (message.role === 'assistant')
    return { ...message, parts: message.parts.filter(({ type }) => type !== 'reasoning') };
  if (message.role !== 'tool') return message;
  return { ...message, parts: message.parts.map(({ isError: _error, ...part }) => part) };
}

/* ---- generated completions ---- */

const part = (api: Api): fc.Arbitrary<AssistantPart> =>
  fc.oneof(
    textPart,
    reasoning(api),
    fc.record({ name, args }).map((call) => ({
      type: 'tool-call' as const,
      id: '',
      name: call.name,
      arguments: JSON.stringify(call.args),
    })),
  );

const completion = (api: Api): fc.Arbitrary<Completion> =>
  fc
    .record({
      parts: fc.array(part(api), { minLength: 1, maxLength: 5 }),
      finishReason: fc.constantFrom('stop' as const, 'length' as const),
      prompt: fc.integer({ min: 1, max: 1_000_000 }),
      tokens: fc.integer({ min: 0, max: 100_000 }),
      cached: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ parts, finishReason, prompt, tokens, cached }) => {
      const ordered = inOrder(api, parts).map((each, index) =>
        each.type === 'tool-call' ? { ...each, id: `call_${index}` } : each,
      );
      const hasCalls = ordered.some(({ type }) => type === 'tool-call');
      return {
        id: 'x',
        model: 'up-1',
        parts: ordered,
        finishReason: hasCalls && finishReason === 'stop' ? ('tool-calls' as const) : finishReason,
        usage: {
          prompt,
          completion: tokens,
          cacheRead: Math.floor(prompt * cached),
          cacheWrite: 0,
          reasoning: 0,
        },
      };
    });

/** Chat has one text, one reasoning and one list of calls, in this order; the others have parts. */
function inOrder(api: Api, parts: readonly AssistantPart[]): readonly AssistantPart[] {
  if (api !== 'chat') return parts;
  const first = (type: AssistantPart['type']) => parts.filter((each) => each.type === type).slice(0, 1);
  return [...first('reasoning'), ...first('text'), ...parts.filter((each) => each.type === 'tool-call')];
}

const context: ResponseContext = {
  id: 'x',
  createdAt: 1,
  estimatedPromptTokens: 1,
  conversation: {
    messages: [],
    tools: [],
    isStream: true,
    includeUsage: true,
    nativeFeatures: [],
    unknownFields: {},
  },
  request: {},
};

/** Ids are made for every response, those of reasoning with them. */
const comparable = ({ parts, finishReason, usage, model }: Completion) =>
  json({ parts, finishReason, usage, model });

function readStream(dialect: Dialect, stream: string): Completion {
  const decoder = dialect.createDecoder();
  const splitter = new SseSplitter();
  for (const event of splitter.push(Buffer.from(stream))) expect(decoder.read(event)).toBeUndefined();
  expect(decoder.isDone).toBe(true);
  return decoder.builder.end();
}

describe.each(apis)('a completion written in the %s API', (api) => {
  it('is read back as it was, whole and streamed', () => {
    const dialect = dialectOf(api);
    fc.assert(
      fc.property(completion(api), (given) => {
        const whole = dialect.decodeResponse(json(dialect.encodeResponse(given, context)));
        expect(whole && comparable(whole)).toEqual(comparable(given));
        const encoder = dialect.createEncoder(context);
        const stream = eventsOf(given)
          .map((event) => encoder.write(event))
          .join('');
        expect(comparable(readStream(dialect, stream))).toEqual(comparable(given));
      }),
      { numRuns: 200 },
    );
  });
});
