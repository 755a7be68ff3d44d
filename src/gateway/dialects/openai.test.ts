// A whole response for a streaming client, read by the openai package.
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { readUsage, responseToSse } from './openai-chat-output.ts';

async function streamed(message: object) {
  const answer = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  };
  const openai = new OpenAI({
    apiKey: 'sk-1',
    fetch: async () =>
      new Response(Buffer.from(responseToSse(answer)), {
        headers: { 'content-type': 'text/event-stream' },
      }),
  });
  return openai.chat.completions
    .stream({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
    .finalChatCompletion();
}

describe('responseToSse', () => {
  it('keeps content, finish reason and usage', async () => {
    const { choices, usage } = await streamed({ content: 'two\nlines, жук 😀' });
    expect(choices[0]).toMatchObject({ message: { content: 'two\nlines, жук 😀' }, finish_reason: 'stop' });
    expect(usage).toMatchObject({ total_tokens: 4 });
  });

  it('gives every tool call an index', async () => {
    const call = (id: string) => ({ id, type: 'function', function: { name: id, arguments: '{}' } });
    const { choices } = await streamed({ content: null, tool_calls: [call('a'), call('b')] });
    expect(choices[0]?.message.tool_calls?.map(({ id }) => id)).toEqual(['a', 'b']);
  });
});

describe('readUsage', () => {
  it('counts reasoning as completion where the provider counts it beside (xAI)', () => {
    const usage = (completion: number, total: number) =>
      readUsage({
        usage: {
          prompt_tokens: 100,
          completion_tokens: completion,
          total_tokens: total,
          completion_tokens_details: { reasoning_tokens: 300 },
        },
      });
    expect(usage(50, 450)).toMatchObject({ prompt: 100, completion: 350, reasoning: 300 });
    expect(usage(350, 450)).toMatchObject({ prompt: 100, completion: 350, reasoning: 300 });
  });
});
