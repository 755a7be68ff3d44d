// One conversation in the words of every API: a system prompt, an image, two parallel tool calls with their results, and
// reasoning between them. And one answer: reasoning, text, two tool calls.
import type { ChatApi } from '../../../src/gateway/index.ts';

const pixel = 'iVBORw0KGgo=';
const schema = {
  type: 'object',
  properties: { path: { type: 'string' } },
  required: ['path'],
  additionalProperties: false,
};

export const requests = {
  chat: {
    model: 'm',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
        ],
      },
      {
        role: 'assistant',
        content: 'I look at both files.',
        reasoning_content: 'Two files.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a.txt"}' } },
          { id: 'call_2', type: 'function', function: { name: 'read', arguments: '{"path":"b.txt"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'alpha' },
      { role: 'tool', tool_call_id: 'call_2', content: 'beta' },
      { role: 'user', content: 'Continue.' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'read', description: 'Reads a file.', parameters: schema, strict: true },
      },
    ],
    tool_choice: 'auto',
    max_tokens: 1_000,
    temperature: 0.5,
    top_p: 0.9,
  },
  responses: {
    model: 'm',
    instructions: 'Be brief.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'auto' },
        ],
      },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'Two files.' }],
        encrypted_content: 'ENCRYPTED',
      },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'I look at both files.', annotations: [] }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"path":"a.txt"}' },
      { type: 'function_call', call_id: 'call_2', name: 'read', arguments: '{"path":"b.txt"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'alpha' },
      { type: 'function_call_output', call_id: 'call_2', output: 'beta' },
      { role: 'user', content: 'Continue.' },
    ],
    tools: [
      { type: 'function', name: 'read', description: 'Reads a file.', parameters: schema, strict: true },
      { type: 'custom', name: 'patch', description: 'Applies a patch.' },
    ],
    tool_choice: 'auto',
    max_output_tokens: 1_000,
    temperature: 0.5,
    top_p: 0.9,
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
    store: false,
  },
  messages: {
    model: 'm',
    max_tokens: 1_000,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Two files.', signature: 'SIGNED' },
          { type: 'redacted_thinking', data: 'REDACTED' },
          { type: 'text', text: 'I look at both files.' },
          { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a.txt' } },
          { type: 'tool_use', id: 'call_2', name: 'read', input: { path: 'b.txt' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'alpha' },
          {
            type: 'tool_result',
            tool_use_id: 'call_2',
            content: [{ type: 'text', text: 'beta' }],
            is_error: true,
          },
          { type: 'text', text: 'Continue.' },
        ],
      },
    ],
    tools: [{ name: 'read', description: 'Reads a file.', input_schema: schema }],
    tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    temperature: 0.5,
    stop_sequences: ['END'],
    metadata: { user_id: 'u-1' },
  },
  completions: { model: 'm', prompt: 'Once upon a time', max_tokens: 20, stop: ['\n'], min_p: 0.1 },
} as const;

/** The same answer of a provider, whole and streamed. */
export const answers: Readonly<
  Record<
    Exclude<ChatApi, 'completions'>,
    { readonly whole: object; readonly stream: readonly (object | string)[] }
  >
> = {
  chat: {
    whole: {
      id: 'chatcmpl-9',
      object: 'chat.completion',
      created: 1,
      model: 'up-1',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            reasoning_content: 'I think.',
            content: 'Hello, you.',
            tool_calls: [
              { id: 'call_8', type: 'function', function: { name: 'read', arguments: '{"path":"c"}' } },
              { id: 'call_9', type: 'function', function: { name: 'read', arguments: '{"path":"d"}' } },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
    },
    stream: [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'I ' }),
      chunk({ reasoning_content: 'think.' }),
      chunk({ content: 'Hello, ' }),
      chunk({ content: 'you.' }),
      chunk({
        tool_calls: [{ index: 0, id: 'call_8', type: 'function', function: { name: 'read', arguments: '' } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"path"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':"c"}' } }] }),
      chunk({
        tool_calls: [
          { index: 1, id: 'call_9', type: 'function', function: { name: 'read', arguments: '{"path":"d"}' } },
        ],
      }),
      chunk({}, 'tool_calls'),
      {
        id: 'chatcmpl-9',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'up-1',
        choices: [],
        usage: {
          prompt_tokens: 100,
          completion_tokens: 20,
          total_tokens: 120,
          prompt_tokens_details: { cached_tokens: 40 },
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      },
      'data: [DONE]\n\n',
    ],
  },
  responses: {
    whole: responseObject('completed', responseItems()),
    stream: responseStream(),
  },
  messages: {
    whole: {
      id: 'msg_9',
      type: 'message',
      role: 'assistant',
      model: 'up-1',
      content: [
        { type: 'thinking', thinking: 'I think.', signature: 'SIG-9' },
        { type: 'text', text: 'Hello, you.' },
        { type: 'tool_use', id: 'call_8', name: 'read', input: { path: 'c' } },
        { type: 'tool_use', id: 'call_9', name: 'read', input: { path: 'd' } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 60,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 0,
        output_tokens: 20,
      },
    },
    stream: messageStream(),
  },
  gemini: {
    whole: {
      responseId: 'gem-9',
      modelVersion: 'up-1',
      candidates: [
        {
          content: {
            role: 'model',
            parts: [
              { text: 'I think.', thought: true },
              { text: 'Hello, you.' },
              { functionCall: { name: 'read', args: { path: 'c' } }, thoughtSignature: 'GEM-SIG' },
              { functionCall: { name: 'read', args: { path: 'd' } } },
            ],
          },
          finishReason: 'STOP',
        },
      ],
      usageMetadata: {
        promptTokenCount: 100,
        candidatesTokenCount: 15,
        thoughtsTokenCount: 5,
        cachedContentTokenCount: 40,
      },
    },
    stream: [
      geminiChunk([{ text: 'I think.', thought: true }]),
      geminiChunk([{ text: 'Hello, ' }]),
      geminiChunk([{ text: 'you.' }]),
      geminiChunk([{ functionCall: { name: 'read', args: { path: 'c' } }, thoughtSignature: 'GEM-SIG' }]),
      {
        ...geminiChunk([{ functionCall: { name: 'read', args: { path: 'd' } } }], 'STOP'),
        usageMetadata: {
          promptTokenCount: 100,
          candidatesTokenCount: 15,
          thoughtsTokenCount: 5,
          cachedContentTokenCount: 40,
        },
      },
    ],
  },
};

function chunk(delta: object, finish: string | null = null): object {
  return {
    id: 'chatcmpl-9',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'up-1',
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

function geminiChunk(parts: readonly object[], finishReason?: string): object {
  const candidate = {
    content: { role: 'model', parts },
    ...(finishReason !== undefined && { finishReason }),
  };
  return { responseId: 'gem-9', modelVersion: 'up-1', candidates: [candidate] };
}

function responseItems(): readonly object[] {
  return [
    {
      id: 'rs_9',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'I think.' }],
      encrypted_content: 'ENC-9',
    },
    {
      id: 'msg_9',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hello, you.', annotations: [] }],
    },
    {
      id: 'fc_8',
      type: 'function_call',
      call_id: 'call_8',
      name: 'read',
      arguments: '{"path":"c"}',
      status: 'completed',
    },
    {
      id: 'fc_9',
      type: 'function_call',
      call_id: 'call_9',
      name: 'read',
      arguments: '{"path":"d"}',
      status: 'completed',
    },
  ];
}

function responseObject(status: string, output: readonly object[]): object {
  return {
    id: 'resp_9',
    object: 'response',
    created_at: 1,
    status,
    model: 'up-1',
    error: null,
    incomplete_details: null,
    output,
    usage:
      status === 'completed'
        ? {
            input_tokens: 100,
            input_tokens_details: { cached_tokens: 40 },
            output_tokens: 20,
            output_tokens_details: { reasoning_tokens: 5 },
            total_tokens: 120,
          }
        : null,
  };
}

function responseStream(): readonly object[] {
  const [reasoning, message, first, second] = responseItems() as readonly Record<string, unknown>[];
  const item = (index: number, more: object) => ({ output_index: index, ...more });
  const list = [
    { type: 'response.created', response: responseObject('in_progress', []) },
    { type: 'response.output_item.added', ...item(0, { item: { ...reasoning, summary: [] } }) },
    {
      type: 'response.reasoning_summary_part.added',
      ...item(0, { item_id: 'rs_9', summary_index: 0, part: { type: 'summary_text', text: '' } }),
    },
    {
      type: 'response.reasoning_summary_text.delta',
      ...item(0, { item_id: 'rs_9', summary_index: 0, delta: 'I ' }),
    },
    {
      type: 'response.reasoning_summary_text.delta',
      ...item(0, { item_id: 'rs_9', summary_index: 0, delta: 'think.' }),
    },
    { type: 'response.output_item.done', ...item(0, { item: reasoning }) },
    { type: 'response.output_item.added', ...item(1, { item: { ...message, content: [] } }) },
    {
      type: 'response.content_part.added',
      ...item(1, {
        item_id: 'msg_9',
        content_index: 0,
        part: { type: 'output_text', text: '', annotations: [] },
      }),
    },
    {
      type: 'response.output_text.delta',
      ...item(1, { item_id: 'msg_9', content_index: 0, delta: 'Hello, ' }),
    },
    { type: 'response.output_text.delta', ...item(1, { item_id: 'msg_9', content_index: 0, delta: 'you.' }) },
    {
      type: 'response.output_text.done',
      ...item(1, { item_id: 'msg_9', content_index: 0, text: 'Hello, you.' }),
    },
    { type: 'response.output_item.done', ...item(1, { item: message }) },
    { type: 'response.output_item.added', ...item(2, { item: { ...first, arguments: '' } }) },
    { type: 'response.function_call_arguments.delta', ...item(2, { item_id: 'fc_8', delta: '{"path"' }) },
    { type: 'response.function_call_arguments.delta', ...item(2, { item_id: 'fc_8', delta: ':"c"}' }) },
    {
      type: 'response.function_call_arguments.done',
      ...item(2, { item_id: 'fc_8', arguments: '{"path":"c"}' }),
    },
    { type: 'response.output_item.done', ...item(2, { item: first }) },
    { type: 'response.output_item.added', ...item(3, { item: { ...second, arguments: '' } }) },
    {
      type: 'response.function_call_arguments.delta',
      ...item(3, { item_id: 'fc_9', delta: '{"path":"d"}' }),
    },
    { type: 'response.output_item.done', ...item(3, { item: second }) },
    { type: 'response.completed', response: responseObject('completed', responseItems()) },
  ];
  return list.map((event, sequence_number) => ({ ...event, sequence_number }));
}

function messageStream(): readonly object[] {
  const block = (index: number, content_block: object) => ({
    type: 'content_block_start',
    index,
    content_block,
  });
  const delta = (index: number, given: object) => ({ type: 'content_block_delta', index, delta: given });
  const stop = (index: number) => ({ type: 'content_block_stop', index });
  return [
    {
      type: 'message_start',
      message: {
        id: 'msg_9',
        type: 'message',
        role: 'assistant',
        model: 'up-1',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 60,
          cache_read_input_tokens: 40,
          cache_creation_input_tokens: 0,
          output_tokens: 1,
        },
      },
    },
    block(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'I ' }),
    { type: 'ping' },
    delta(0, { type: 'thinking_delta', thinking: 'think.' }),
    delta(0, { type: 'signature_delta', signature: 'SIG-9' }),
    stop(0),
    block(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'Hello, ' }),
    delta(1, { type: 'text_delta', text: 'you.' }),
    stop(1),
    block(2, { type: 'tool_use', id: 'call_8', name: 'read', input: {} }),
    delta(2, { type: 'input_json_delta', partial_json: '{"path"' }),
    delta(2, { type: 'input_json_delta', partial_json: ':"c"}' }),
    stop(2),
    block(3, { type: 'tool_use', id: 'call_9', name: 'read', input: {} }),
    delta(3, { type: 'input_json_delta', partial_json: '{"path":"d"}' }),
    stop(3),
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 20 },
    },
    { type: 'message_stop' },
  ];
}
