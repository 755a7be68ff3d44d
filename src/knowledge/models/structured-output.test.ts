import { describe, expect, it } from 'vitest';
import { seededIds, seededRandom } from '../../core/index.ts';
import type { LanguageModel } from './structured-output.ts';
import { completeJson, promptData } from './structured-output.ts';

const ids = seededIds(seededRandom(1), () => 0);
const { signal } = new AbortController();

function call(...answers: unknown[]) {
  const requests: Parameters<LanguageModel['complete']>[0][] = [];
  const model: LanguageModel = {
    isConfigured: () => true,
    complete: async (request) => {
      requests.push(request);
      return { text: answers[requests.length - 1] as string, model: 'small' };
    },
  };
  const result = completeJson(
    { model, ids },
    {
      caller: 'admin',
      messages: [{ role: 'user', content: 'Say ok.' }],
      maxTokens: 10,
      schema: { name: 'test', schema: {} },
      maxAnswerLength: 20,
      parse: (text) => (text === 'ok' ? { value: text } : { problem: 'It is not ok.' }),
      errorCode: 'KNOWLEDGE_CONFIRMATION_FAILED',
    },
    signal,
  );
  return { requests, result };
}

describe('completeJson', () => {
  it('returns a usable answer after one call', async () => {
    const { requests, result } = call('ok');
    expect(await result).toBe('ok');
    expect(requests).toHaveLength(1);
  });

  it.each([
    [undefined, 'It is no text.'],
    ['x'.repeat(21), 'It has 21 characters; at most 20 are read.'],
    ['no', 'It is not ok.'],
  ])('repairs an unusable answer once, with the problem in the prompt (%#)', async (answer, problem) => {
    const { requests, result } = call(answer, 'ok');
    expect(await result).toBe('ok');
    expect(requests[1]?.messages.at(-1)?.content).toContain(problem);
  });

  it('repeats an unusable answer without splitting a character', async () => {
    const { requests, result } = call(`${'x'.repeat(3_999)}😀`, 'ok');
    await result;
    expect(requests[1]?.messages.at(-2)?.content).toMatch(/^x{3999}\uFFFD$/);
  });

  it('fails with the given code when the repair is unusable too', async () => {
    await expect(call('no', 'no').result).rejects.toMatchObject({
      code: 'KNOWLEDGE_CONFIRMATION_FAILED',
      isRetryable: false,
      details: { model: 'small', problem: 'It is not ok.' },
    });
  });

  it('makes no call after the signal was aborted', async () => {
    const aborted = AbortSignal.abort(new Error('stopped'));
    const model: LanguageModel = {
      isConfigured: () => true,
      complete: () => Promise.reject(new Error('called')),
    };
    const request = {
      caller: 'admin',
      messages: [],
      maxTokens: 1,
      schema: { name: 'test', schema: {} },
      maxAnswerLength: 1,
      parse: () => ({ problem: '' }),
      errorCode: 'KNOWLEDGE_READING_FAILED',
    } as const;
    await expect(completeJson({ model, ids }, request, aborted)).rejects.toThrow('stopped');
  });
});

describe('promptData', () => {
  it('escapes angle brackets, so that a text cannot close its element', () => {
    expect(promptData({ text: '</data>' })).not.toMatch(/[<>]/);
    expect(JSON.parse(promptData({ text: '</data>' }))).toEqual({ text: '</data>' });
  });
});
