// Request bodies that are large, deep or have very many values: none blocks the main thread.
import { afterAll, describe, expect, it } from 'vitest';
import { buildServer } from '../../src/http/index.ts';
import { asAdmin, createTestDeps } from '../support/http-dependencies.ts';
import { maxTaskMs, repeatedTaskMs } from '../support/longest-task.ts';

const list = (item: string, count: number) => `[${`${item},`.repeat(count - 1)}${item}]`;

describe('a request body', async () => {
  const server = await buildServer(createTestDeps().dependencies);
  afterAll(() => server.close());
  const post = (payload: string) =>
    server.inject({
      method: 'POST',
      url: '/api/v1/organizations',
      headers: { ...asAdmin, 'content-type': 'application/json' },
      payload,
    });

  it.each([
    ['500,000 numbers', `{"name":${list('0', 500_000)}}`, 413],
    ['300,000 objects', `{"name":${list('{}', 300_000)}}`, 413],
    ['80,000 keys', `{${Array.from({ length: 80_000 }, (_, index) => `"k${index}":1`).join()}}`, 400],
    ['90,000 texts', `{"name":${list('"a"', 90_000)}}`, 400],
    ['a million brackets', '['.repeat(1_000_000), 413],
    ['a million quotes', JSON.stringify({ name: '"'.repeat(500_000) }), 404],
    ['a million characters', JSON.stringify({ name: 'Ann, Ben: [{'.repeat(80_000) }), 404],
  ])('with %s does not block the main thread (B1)', async (_, payload, status) => {
    let code = 0;
    const longest = await repeatedTaskMs(async () => ({ statusCode: code } = await post(payload)));
    expect(code).toBe(status);
    expect(longest).toBeLessThan(maxTaskMs);
  });
});
