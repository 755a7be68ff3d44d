// A provider with every API, written from the documentation of each and without the gateway's code: what a client sees
// through the gateway must not depend on the API that the model has. It answers tools, JSON and images in a fixed way.
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Readonly<Record<string, unknown>>;

export interface OfferedTool {
  readonly name: string;
  /** JSON schema of its input. */
  readonly schema: Json;
}

let calls = 0;
const nextCallId = (): string => `call_${(calls += 1)}`;

/** What the model reads in a request, whatever its API. */
export interface Turn {
  /** The last text of the user. */
  readonly prompt: string;
  readonly images: number;
  readonly tools: readonly OfferedTool[];
  /** Results of tools after the last text of the user. */
  readonly results: readonly string[];
  /** A JSON schema for the answer. */
  readonly needsJson: boolean;
  readonly needsReasoning: boolean;
}

export interface Answer {
  readonly reasoning: string;
  readonly text: string;
  readonly call: { readonly name: string; readonly input: Json } | undefined;
}

const forecast = { city: 'Oslo', degrees: 3 };

/** Calls the first tool once, then reports its result. */
function answerOf({ prompt, images, tools, results, needsJson, needsReasoning }: Turn): Answer {
  const reasoning = needsReasoning ? 'I think about it.' : '';
  const tool = tools[0]?.name;
  if (tool !== undefined && results.length === 0)
    // Some clients offer the schema of the answer as a tool of this name.
    return {
      reasoning,
      text: '',
      call: { name: tool, input: tool === 'json' ? forecast : { city: 'Oslo' } },
    };
  const text =
    results.length > 0
      ? `The tool returned: ${results.join(', ')}`
      : needsJson
        ? JSON.stringify(forecast)
        : images > 0
          ? `I see ${images} image.`
          : `You wrote: ${prompt}`;
  return { reasoning, text, call: undefined };
}

const objects = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);
/** Content as text or as parts. */
const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : objects(content)
        .map(({ text }) => (typeof text === 'string' ? text : ''))
        .join('');
const toolOf = (tool: Json, schema: string): OfferedTool => ({
  name: String(tool['name']),
  schema: (tool[schema] ?? {}) as Json,
});
const chunksOf = (text: string): readonly string[] => text.match(/[\s\S]{1,7}/g) ?? [];

/* ---- OpenAI chat ---- */

function readChat(body: Json): Turn {
  const messages = objects(body['messages']);
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  const { content } = messages[lastUser] ?? {};
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : objects(content);
  return {
    prompt: textOf(parts.filter(({ type }) => type === 'text')),
    images: parts.filter(({ type }) => type === 'image_url').length,
    tools: objects(body['tools']).map((tool) => toolOf(tool['function'] as Json, 'parameters')),
    results: messages
      .slice(lastUser)
      .flatMap(({ role, content: result }) => (role === 'tool' ? [textOf(result)] : [])),
    needsJson: (body['response_format'] as Json | undefined)?.['type'] === 'json_schema',
    needsReasoning: body['reasoning_effort'] !== undefined,
  };
}

function chatWhole({ reasoning, text, call }: Answer, model: unknown): object {
  const tool_calls = call && [
    {
      id: nextCallId(),
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.input) },
    },
  ];
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: call ? null : text,
          ...(reasoning && { reasoning_content: reasoning }),
          ...(tool_calls && { tool_calls }),
        },
        finish_reason: call ? 'tool_calls' : 'stop',
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

function chatStream({ reasoning, text, call }: Answer, model: unknown): readonly (object | string)[] {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: [{ index: 0, delta, finish_reason }],
  });
  const callChunks = call
    ? [
        { id: nextCallId(), type: 'function', function: { name: call.name, arguments: '' } },
        ...chunksOf(JSON.stringify(call.input)).map((part) => ({ function: { arguments: part } })),
      ].map((part) => chunk({ tool_calls: [{ index: 0, ...part }] }))
    : [];
  return [
    chunk({ role: 'assistant', content: '' }),
    ...chunksOf(reasoning).map((part) => chunk({ reasoning_content: part })),
    ...chunksOf(text).map((part) => chunk({ content: part })),
    ...callChunks,
    chunk({}, call ? 'tool_calls' : 'stop'),
    {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model,
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
    'data: [DONE]\n\n',
  ];
}

/* ---- OpenAI Responses ---- */

function readResponses(body: Json): Turn {
  const { input } = body;
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : objects(input);
  const lastUser = items.findLastIndex(({ role }) => role === 'user');
  const { content } = items[lastUser] ?? {};
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : objects(content);
  return {
    prompt: textOf(parts.filter(({ type }) => type === 'input_text')),
    images: parts.filter(({ type }) => type === 'input_image').length,
    tools: objects(body['tools']).map((tool) => toolOf(tool, 'parameters')),
    results: items
      .slice(lastUser)
      .flatMap(({ type, output }) => (type === 'function_call_output' ? [textOf(output)] : [])),
    needsJson:
      ((body['text'] as Json | undefined)?.['format'] as Json | undefined)?.['type'] === 'json_schema',
    needsReasoning: body['reasoning'] !== undefined && body['reasoning'] !== null,
  };
}

function responsesItems({ reasoning, text, call }: Answer): readonly Json[] {
  const items: Json[] = [];
  if (reasoning)
    items.push({
      id: 'rs_1',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: reasoning }],
      encrypted_content: 'ENC',
    });
  if (call)
    items.push({
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      call_id: nextCallId(),
      name: call.name,
      arguments: JSON.stringify(call.input),
    });
  else
    items.push({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
    });
  return items;
}

const responsesBody = (id: string, model: unknown, status: string, output: readonly Json[]): Json => ({
  id,
  object: 'response',
  created_at: 1,
  status,
  model,
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  output,
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  usage:
    status === 'completed'
      ? {
          input_tokens: 10,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 5,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 15,
        }
      : null,
});

function responsesStream(id: string, answer: Answer, model: unknown): readonly object[] {
  const items = responsesItems(answer);
  const list: Json[] = [{ type: 'response.created', response: responsesBody(id, model, 'in_progress', []) }];
  for (const [output_index, item] of items.entries()) {
    const at = { output_index, item_id: item['id'] };
    if (item['type'] === 'message') {
      const part = objects(item['content'])[0] ?? {};
      list.push({ type: 'response.output_item.added', output_index, item: { ...item, content: [] } });
      list.push({
        type: 'response.content_part.added',
        ...at,
        content_index: 0,
        part: { ...part, text: '' },
      });
      for (const delta of chunksOf(answer.text))
        list.push({ type: 'response.output_text.delta', ...at, content_index: 0, delta, logprobs: [] });
      list.push({
        type: 'response.output_text.done',
        ...at,
        content_index: 0,
        text: answer.text,
        logprobs: [],
      });
      list.push({ type: 'response.content_part.done', ...at, content_index: 0, part });
    } else if (item['type'] === 'function_call') {
      list.push({ type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } });
      for (const delta of chunksOf(String(item['arguments'])))
        list.push({ type: 'response.function_call_arguments.delta', ...at, delta });
      list.push({ type: 'response.function_call_arguments.done', ...at, arguments: item['arguments'] });
    } else {
      list.push({ type: 'response.output_item.added', output_index, item: { ...item, summary: [] } });
      list.push({
        type: 'response.reasoning_summary_part.added',
        ...at,
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      });
      for (const delta of chunksOf(answer.reasoning))
        list.push({ type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta });
      list.push({
        type: 'response.reasoning_summary_text.done',
        ...at,
        summary_index: 0,
        text: answer.reasoning,
      });
    }
    list.push({ type: 'response.output_item.done', output_index, item });
  }
  list.push({ type: 'response.completed', response: responsesBody(id, model, 'completed', items) });
  return list.map((event, sequence_number) => ({ ...event, sequence_number }));
}

/* ---- Anthropic Messages ---- */

function readMessages(body: Json): Turn {
  const messages = objects(body['messages']);
  const blocksOf = ({ content }: Json) =>
    typeof content === 'string' ? [{ type: 'text', text: content } as Json] : objects(content);
  const resultsIn = (message: Json) => blocksOf(message).filter(({ type }) => type === 'tool_result');
  const start = messages.findLastIndex((each) => each['role'] === 'user' && resultsIn(each).length === 0);
  const last = messages[start] ?? {};
  const turn = messages.slice(start + 1);
  return {
    prompt: textOf(blocksOf(last).filter(({ type }) => type === 'text')),
    images: blocksOf(last).filter(({ type }) => type === 'image').length,
    tools: objects(body['tools']).map((tool) => toolOf(tool, 'input_schema')),
    results: turn.flatMap(resultsIn).map(({ content }) => textOf(content)),
    needsJson: (body['output_config'] as Json | undefined)?.['format'] !== undefined,
    needsReasoning: (body['thinking'] as Json | undefined)?.['type'] !== undefined,
  };
}

function messagesBlocks({ reasoning, text, call }: Answer): readonly Json[] {
  return [
    ...(reasoning ? [{ type: 'thinking', thinking: reasoning, signature: 'SIG' }] : []),
    call
      ? { type: 'tool_use', id: nextCallId(), name: call.name, input: call.input }
      : { type: 'text', text },
  ];
}

const messagesBody = (answer: Answer, model: unknown, content: readonly Json[]): Json => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_reason: content.length === 0 ? null : answer.call ? 'tool_use' : 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
});

function messagesStream(answer: Answer, model: unknown): readonly object[] {
  const list: Json[] = [{ type: 'message_start', message: messagesBody(answer, model, []) }];
  for (const [index, block] of messagesBlocks(answer).entries()) {
    const deltas: readonly Json[] =
      block['type'] === 'text'
        ? chunksOf(answer.text).map((text) => ({ type: 'text_delta', text }))
        : block['type'] === 'tool_use'
          ? chunksOf(JSON.stringify(block['input'])).map((partial_json) => ({
              type: 'input_json_delta',
              partial_json,
            }))
          : [
              ...chunksOf(answer.reasoning).map((thinking) => ({ type: 'thinking_delta', thinking })),
              { type: 'signature_delta', signature: 'SIG' },
            ];
    const empty = { text: { text: '' }, tool_use: { input: {} }, thinking: { thinking: '', signature: '' } };
    const begun = { ...block, ...empty[block['type'] as keyof typeof empty] };
    list.push({ type: 'content_block_start', index, content_block: begun });
    for (const delta of deltas) list.push({ type: 'content_block_delta', index, delta });
    list.push({ type: 'content_block_stop', index });
  }
  const stop_reason = answer.call ? 'tool_use' : 'end_turn';
  list.push({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null },
    usage: { output_tokens: 5 },
  });
  list.push({ type: 'message_stop' });
  return list;
}

/* ---- Gemini ---- */

function readGemini(body: Json): Turn {
  const contents = objects(body['contents']);
  const partsOf = ({ parts }: Json) => objects(parts);
  const hasResult = (each: Json) =>
    partsOf(each).some(({ functionResponse }) => functionResponse !== undefined);
  const start = contents.findLastIndex((each) => each['role'] === 'user' && !hasResult(each));
  const last = partsOf(contents[start] ?? {});
  const config = (body['generationConfig'] ?? {}) as Json;
  const [tools] = objects(body['tools']);
  return {
    prompt: textOf(last.filter(({ text }) => text !== undefined)),
    images: last.filter(({ inlineData }) => inlineData !== undefined).length,
    tools: objects(tools?.['functionDeclarations']).map((tool) => toolOf(tool, 'parametersJsonSchema')),
    results: contents
      .slice(start + 1)
      .flatMap(partsOf)
      .flatMap(({ functionResponse }) => {
        const response = (functionResponse as Json | undefined)?.['response'] as Json | undefined;
        return response ? [textOf(response['output']) || JSON.stringify(response)] : [];
      }),
    needsJson: config['responseJsonSchema'] !== undefined,
    needsReasoning: config['thinkingConfig'] !== undefined,
  };
}

function geminiStream({ reasoning, text, call }: Answer, model: unknown): readonly object[] {
  const chunk = (parts: readonly object[], finishReason?: string) => ({
    responseId: 'gem-1',
    modelVersion: model,
    candidates: [{ content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  });
  return [
    ...chunksOf(reasoning).map((part) => chunk([{ text: part, thought: true }])),
    ...chunksOf(text).map((part) => chunk([{ text: part }])),
    ...(call
      ? [chunk([{ functionCall: { name: call.name, args: call.input }, thoughtSignature: 'GSIG' }])]
      : []),
    chunk([], 'STOP'),
  ];
}

function geminiWhole({ reasoning, text, call }: Answer, model: unknown): object {
  const parts = [
    ...(reasoning ? [{ text: reasoning, thought: true }] : []),
    call ? { functionCall: { name: call.name, args: call.input }, thoughtSignature: 'GSIG' } : { text },
  ];
  return {
    responseId: 'gem-1',
    modelVersion: model,
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  };
}

/* ---- the server ---- */

const vector = (text: string): readonly number[] =>
  Array.from({ length: 8 }, (_, at) => (text.length + at) / 10);

function send(response: ServerResponse, body: object | readonly (object | string)[], isNamed: boolean): void {
  if (!Array.isArray(body)) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const events = (body as readonly (object | string)[]).map((event) => {
    const name = isNamed ? `event: ${(event as { readonly type: string }).type}\n` : '';
    return typeof event === 'string' ? event : `${name}data: ${JSON.stringify(event)}\n: é\n\n`;
  });
  void sendInPieces(response, `: begin\n\n${events.join('')}`);
}

/** As servers and networks do it: CRLF, comments, cut within lines and characters, without the last blank line. */
async function sendInPieces(response: ServerResponse, text: string): Promise<void> {
  const bytes = Buffer.from(text.trimEnd().replaceAll('\n', '\r\n'));
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    response.write(bytes.subarray(at, at + pieceBytes));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

const pieceBytes = 37;

let responseCount = 0;

function respond(path: string, body: Json, response: ServerResponse, answerTo: (turn: Turn) => Answer): void {
  const { model, stream } = body;
  if (path === '/v1/chat/completions') {
    const answer = answerTo(readChat(body));
    return send(response, stream === true ? chatStream(answer, model) : chatWhole(answer, model), false);
  }
  if (path === '/v1/responses') {
    const answer = answerTo(readResponses(body));
    const id = `resp_${(responseCount += 1)}`;
    const whole = () => responsesBody(id, model, 'completed', responsesItems(answer));
    return send(response, stream === true ? responsesStream(id, answer, model) : whole(), true);
  }
  if (path === '/v1/messages') {
    const answer = answerTo(readMessages(body));
    const whole = () => messagesBody(answer, model, messagesBlocks(answer));
    return send(response, stream === true ? messagesStream(answer, model) : whole(), true);
  }
  if (path === '/v1/messages/count_tokens') return send(response, { input_tokens: 42 }, false);
  const gemini = /^\/v1\/models\/([^:]+):(generateContent|streamGenerateContent\?alt=sse)$/.exec(path);
  if (gemini) {
    const answer = answerTo(readGemini(body));
    const isStream = gemini[2] !== 'generateContent';
    return send(response, isStream ? geminiStream(answer, gemini[1]) : geminiWhole(answer, gemini[1]), false);
  }
  if (path === '/v1/embeddings') {
    const texts = Array.isArray(body['input']) ? (body['input'] as string[]) : [String(body['input'])];
    const asBase64 = (values: readonly number[]) =>
      Buffer.from(Float32Array.from(values).buffer).toString('base64');
    const data = texts.map((text, index) => ({
      object: 'embedding',
      index,
      embedding: body['encoding_format'] === 'base64' ? asBase64(vector(text)) : vector(text),
    }));
    return send(
      response,
      { object: 'list', data, model, usage: { prompt_tokens: 3, total_tokens: 3 } },
      false,
    );
  }
  response.writeHead(404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: `nothing at ${path}` } }));
}

export interface AnyApiProvider {
  readonly url: string;
  /** Paths and bodies of all requests. */
  readonly requests: { readonly path: string; readonly body: Json }[];
  stop(): Promise<void>;
}

export interface AnyApiProviderOptions {
  /** Default: see answerOf. */
  readonly answerTo?: (turn: Turn) => Answer;
  /** A status with which request number `count` fails; undefined: it is answered. */
  readonly failWith?: (count: number) => number | undefined;
}

export async function startAnyApiProvider({
  answerTo = answerOf,
  failWith = () => undefined,
}: AnyApiProviderOptions = {}): Promise<AnyApiProvider> {
  const requests: { readonly path: string; readonly body: Json }[] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => void chunks.push(chunk));
    incoming.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Json;
      requests.push({ path: incoming.url ?? '', body });
      const status = failWith(requests.length);
      if (status === undefined) return respond(incoming.url ?? '', body, outgoing, answerTo);
      outgoing.writeHead(status, { 'content-type': 'application/json' });
      return outgoing.end(JSON.stringify({ error: { message: 'fails as the test demands' } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
