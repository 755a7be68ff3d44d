import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ApiTransport } from '../api/client.ts';
import { after, id, next, pageSize, spaceFields } from '../api/fields.ts';
import { operation } from '../api/operation.ts';
import { toolFor } from './derive.ts';

const listThings = operation('GET /api/v1/knowledge/things', {
  id: 'things.list',
  summary: 'List things',
  access: 'tenant',
  query: z.strictObject({
    color: z.enum(['red', 'blue']).optional(),
    limit: pageSize(500, 100),
    after,
    ...spaceFields,
  }),
  output: z.object({ things: z.array(z.object({ id, text: z.string() })), next }),
});

const ids = Array.from(
  { length: 200 },
  (_, index) => `0195a1b2-c3d4-7e5f-8a9b-${String(index).padStart(12, '0')}`,
);

const tool = toolFor(listThings, {
  name: 'list_things',
  title: 'List things',
  description: 'Lists.',
  maxPageSize: 50,
});

function context(response: unknown, calls: unknown[] = []) {
  return {
    api: {
      call: async (...call: unknown[]) => {
        calls.push(call);
        return response;
      },
    } as ApiTransport,
    caller: 'admin' as const,
    signal: AbortSignal.timeout(1_000),
  };
}

describe('toolFor', () => {
  it('derives input and output from the operation, with a smaller page and a note', () => {
    const { inputSchema, outputSchema, annotations } = tool.listing('admin');
    expect(inputSchema).toMatchObject({
      properties: {
        color: { enum: ['red', 'blue'] },
        limit: { maximum: 50, default: 20 },
        space: { type: 'string' },
        organization: { type: 'string' },
      },
    });
    expect(Object.keys(outputSchema['properties'] as object)).toEqual(['things', 'next', 'note']);
    expect(annotations).toMatchObject({ readOnlyHint: true });
  });

  it('offers "organization" to the admin only', () => {
    expect(tool.listing('organization').inputSchema['properties']).not.toHaveProperty('organization');
  });

  it('calls the operation with its query and the space', async () => {
    const calls: unknown[] = [];
    await tool.run({ color: 'red', space: 'bi' }, context({ things: [], next: null }, calls));
    expect(calls).toMatchObject([
      ['GET', '/api/v1/knowledge/things', { query: { color: 'red', limit: 20, space: 'bi' } }],
    ]);
  });

  describe('of an operation with parameters in its path', () => {
    const getQueue = operation('GET /api/v1/limits/:organization/queue', {
      id: 'limits.get-queue',
      summary: 'Get the queue of an organization',
      params: z.object({ organization: z.string() }),
      output: z.object({ queued: z.number() }),
    });
    const texts = { name: 'get_queue', title: 'Get queue', description: 'Gets.' };

    it('has an input field for each of them, also one named like a field of spaces', async () => {
      const calls: unknown[] = [];
      const queue = toolFor(getQueue, texts);
      expect(queue.listing('admin').inputSchema).toMatchObject({ required: ['organization'] });
      await queue.run({ organization: 'acme' }, context({ queued: 0 }, calls));
      expect(calls).toMatchObject([['GET', '/api/v1/limits/acme/queue', {}]]);
    });

    it('is rejected without a field for each of them', () => {
      expect(() => toolFor(getQueue, { ...texts, omit: ['organization'] })).toThrow(
        'The tool get_queue has no input field for :organization of GET /api/v1/limits/:organization/queue.',
      );
    });
  });

  it('keeps the filter by organization of an operation without spaces', () => {
    const list = operation('GET /api/v1/executions', {
      id: 'executions.list',
      summary: 'List executions',
      query: z.strictObject({ organization: z.string().optional() }),
      output: z.object({ executions: z.array(z.object({ id })) }),
    });
    const listed = toolFor(list, { name: 'list_executions', title: 'List', description: 'Lists.' });
    expect(listed.listing('admin').inputSchema['properties']).toHaveProperty('organization');
  });

  it('cuts long texts', async () => {
    const things = [{ id: ids[0], text: 'x'.repeat(1_000) }];
    const answer = await tool.run({}, context({ things, next: null }));
    expect((answer['things'] as { text: string }[])[0]?.text).toContain('more characters]');
    expect(answer['note']).toBeNull();
  });

  it('truncates a list that does not fit, with a note how to continue', async () => {
    const things = ids.map((each) => ({ id: each, text: 'x'.repeat(400) }));
    const answer = await tool.run({}, context({ things, next: null }));
    const shown = answer['things'] as { id: string }[];
    expect(shown.length).toBeLessThan(things.length);
    expect(answer['next']).toBe(shown.at(-1)?.id);
    expect(answer['note']).toContain(`after = ${shown.at(-1)?.id}`);
  });
});
