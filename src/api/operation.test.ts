import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callApi, pathWith } from './client.ts';
import { operation } from './operation.ts';

describe('operation', () => {
  it('splits the route and defaults to status 200, admin access, an id in the path and the tag of the path', () => {
    const op = operation('GET /api/v1/things/:id', {
      id: 'parts.get',
      summary: 'Get a thing',
      output: z.object({}),
    });
    expect(op).toMatchObject({
      method: 'GET',
      path: '/api/v1/things/:id',
      status: 200,
      access: 'admin',
      tag: 'things',
    });
    expect(op.params?.safeParse({ id: 'x' }).success).toBe(false);
    expect(op.params?.safeParse({ id: '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b' }).success).toBe(true);
  });

  it('outside of the API has the tag of its id', () => {
    const op = operation('GET /healthz', { id: 'health.get', summary: 'Get', output: z.null() });
    expect(op).toMatchObject({ tag: 'health', params: undefined });
  });

  it('rejects query parameters and bodies that are not declared', () => {
    const op = operation('POST /api/v1/things', {
      id: 'things.create',
      summary: 'Create a thing',
      access: 'admin',
      output: z.object({}),
    });
    expect(op.query.safeParse({ space: 'x' }).success).toBe(false);
    expect(op.body.safeParse({ space: 'x' }).success).toBe(false);
    expect(op.body.safeParse(undefined).success).toBe(true);
    expect(op.body.safeParse({}).success).toBe(true);
  });

  it('ignores unknown query parameters outside of the API', () => {
    const op = operation('GET /healthz', {
      id: 'health.get',
      summary: 'Get',
      access: 'public',
      output: z.object({}),
    });
    expect(op.query.safeParse({ probe: '1' }).success).toBe(true);
  });
});

describe('callApi', () => {
  const calls: unknown[] = [];
  const transport = {
    call: async <T>(...call: unknown[]) => {
      calls.push(call);
      return undefined as T;
    },
  };

  it('fills in and escapes path parameters and passes on query, body and signal', async () => {
    const { signal } = new AbortController();
    await callApi(transport, 'POST /api/v1/ledger/:id/resolve', {
      params: { id: 'a/b' },
      body: { resolution: 'by hand' },
      signal,
    });
    expect(calls).toEqual([
      ['POST', '/api/v1/ledger/a%2Fb/resolve', { body: { resolution: 'by hand' }, signal }],
    ]);
  });

  it('demands the parameters of the route at compile time', () => {
    // @ts-expect-error -- params are missing
    void callApi(transport, 'GET /api/v1/ledger/:id');
    // @ts-expect-error -- there is no such route
    void callApi(transport, 'GET /api/v1/ledgers');
    // @ts-expect-error -- not a state
    void callApi(transport, 'GET /api/v1/ledger', { query: { state: 'closed' } });
    expect(pathWith('/a/:id/b/:other', { id: 1, other: 'x y' })).toBe('/a/1/b/x%20y');
  });
});
