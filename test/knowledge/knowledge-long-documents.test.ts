// Documents of millions of characters: parsed, chunked and read in threads, with the same result as on the main thread.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { chunkText } from '../../src/knowledge/documents/chunk.ts';
import { DocumentModel } from '../../src/knowledge/documents/document.ts';
import { parseText } from '../../src/knowledge/documents/parse-text.ts';
import { TextThreads } from '../../src/knowledge/documents/text-threads.ts';
import { readAnswer } from '../../src/knowledge/reading/parse-answer.ts';
import { readByRules } from '../../src/knowledge/reading/rules-reader.ts';
import { longestTaskMs, maxTaskMs } from '../support/longest-task.ts';

const texts = new TextThreads(systemClock);
afterAll(() => texts.close());
const work = { signal: new AbortController().signal };

const sentences = 'Ann Lee of Acme Corp decided to move the launch to May. Ben Roth will call the port.\n\n';
const proseOf = (length: number) => sentences.repeat(Math.ceil(length / sentences.length)).slice(0, length);
const dataOf = (keys: number) =>
  JSON.stringify({
    owner: 'Ann Lee',
    note: sentences.trim(),
    ...Object.fromEntries(Array.from({ length: keys }, (_, index) => [`key${index}`, `value ${index}`])),
  });

const answerOf = (value: unknown) => ({ value, length: JSON.stringify(value).length });

describe('a long answer about a short document', () => {
  const text = 'Ann '.repeat(1_000);
  const document = new DocumentModel({ title: '', type: 'doc', sourceTs: null, text });
  const task = { chunk: { text, startChar: 0, heading: null }, document };
  const eventsBy = (actors: number) => ({
    category: 'Decision',
    evidence: ['Ann Ann'],
    actors: Array<string>(actors).fill('Ann'),
  });

  it.each([
    ['mentions of one name', { mentions: Array<string>(20_000).fill('Ann'), events: [] }],
    [
      'events by one name',
      {
        mentions: Array<string>(1_000).fill('Ann'),
        events: Array.from({ length: 1_000 }, () => eventsBy(20)),
      },
    ],
    [
      'mentions and events by a name of two',
      {
        mentions: Array.from({ length: 300 }, (_, index) => ({
          name: 'Ann',
          role: index === 0 ? 'Ann' : null,
        })),
        events: Array.from({ length: 12 }, () => eventsBy(150)),
      },
    ],
  ])('does not block the main thread (B1): %s', async (_, value) => {
    const answer = answerOf(value);
    await texts.readAnswer(answer, task, work);
    expect(await longestTaskMs(() => texts.readAnswer(answer, task, work))).toBeLessThan(maxTaskMs);
  });
});

describe('a long document', () => {
  it.each([
    ['prose', proseOf(60_000)],
    ['data', dataOf(4_000)],
  ])('of %s has the same result in a thread', async (_, text) => {
    const request = { content: { text }, metadata: { color: 'red' }, sourceTs: new Date(0) };
    const document = await texts.parse(request, work);
    expect(document).toEqual(parseText(request));
    const chunks = await texts.chunk(document.text, work);
    expect(chunks).toEqual(chunkText(document.text));
    const model = new DocumentModel(document);
    expect(await texts.hasProse(model, chunks, work)).toEqual(chunks.map((chunk) => model.hasProse(chunk)));
    const [chunk] = chunks;
    if (!chunk) throw new Error('no chunk');
    const task = { chunk, document: model };
    expect(await texts.readByRules(task, work)).toEqual(readByRules(task));
    const answer = { mentions: [{ name: 'Ann Lee', organization: 'Acme Corp' }], events: [] };
    expect(await texts.readAnswer(answerOf(answer), task, work)).toEqual(readAnswer(answer, task));
  });

  it.each([
    ['invisible text', { content: { text: '\u200b'.repeat(60_000) } }, 'INPUT_INVALID'],
    ['nested JSON', { content: { text: '['.repeat(60_000) } }, 'KNOWLEDGE_DOCUMENT_UNREADABLE'],
  ])('of %s is rejected with the same error', async (_, request, code) => {
    const { message } = (() => {
      try {
        return { message: JSON.stringify(parseText(request)) };
      } catch (error) {
        return error as Error;
      }
    })();
    await expect(texts.parse(request, work)).rejects.toMatchObject({ code, message });
  });

  describe('of five million characters', () => {
    beforeAll(async () => {
      // The word list is loaded once.
      await texts.readByRules(
        {
          chunk: { text: 'Ann', startChar: 0, heading: null },
          document: new DocumentModel({ title: '', type: 'doc', sourceTs: null, text: 'Ann' }),
        },
        work,
      );
    });

    it.each([
      ['prose', () => proseOf(4_900_000)],
      ['one line', () => 'Ann Lee '.repeat(600_000)],
      ['JSON with 200,000 keys', () => dataOf(200_000)],
    ])('(%s) does not block the main thread (B1)', async (_, build) => {
      const content = { text: build() };
      const longest = await longestTaskMs(async () => {
        const document = await texts.parse({ content }, work);
        const chunks = await texts.chunk(document.text, work);
        const model = new DocumentModel(document);
        await texts.hasProse(model, chunks, work);
        const [chunk] = chunks;
        if (!chunk) throw new Error('no chunk');
        await texts.readByRules({ chunk, document: model }, work);
        const answer = answerOf({ mentions: [{ name: 'Ann', role: 'An' }] });
        await texts.readAnswer(answer, { chunk, document: model }, work);
      });
      expect(longest).toBeLessThan(maxTaskMs);
    });
  });
});
