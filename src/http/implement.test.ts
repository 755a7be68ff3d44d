import { PassThrough } from 'node:stream';
import fastify from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { instant } from '../api/fields.ts';
import { operation } from '../api/operation.ts';
import { implement, validatorCompiler } from './implement.ts';

const Thing = z.object({
  thing_id: z.string(),
  made_at: instant,
  user_data: z.record(z.string(), z.unknown()),
});

const thingsApi = {
  get: operation('GET /api/v1/things/:thing_id', {
    id: 'things.get',
    summary: 'Get a thing',
    access: 'admin',
    params: z.object({ thing_id: z.string() }),
    query: z.strictObject({ max_age: z.coerce.number().default(5) }),
    output: Thing,
  }),
  create: operation('POST /api/v1/things', {
    id: 'things.create',
    summary: 'Create a thing',
    access: 'admin',
    audit: false,
    body: z.strictObject({ thing_id: z.string() }),
    status: 201,
    output: Thing,
    otherResponses: { 200: Thing },
  }),
} as const;

async function serverWith(handlers: Parameters<typeof implement<typeof thingsApi>>[2]) {
  const server = fastify().withTypeProvider<ZodTypeProvider>();
  server.setValidatorCompiler(validatorCompiler as never);
  server.setSerializerCompiler(serializerCompiler);
  server.setErrorHandler((error, _request, reply) => {
    const isInvalid = (error as { readonly validation?: unknown }).validation !== undefined;
    void reply
      .code(isInvalid ? 400 : 500)
      .serializer(String)
      .send('error');
  });
  server.decorateRequest('caller', null);
  implement(server as never, thingsApi, handlers);
  return server;
}

const thing = (thingId: string) => ({
  thingId,
  madeAt: new Date('2026-03-01T12:00:00Z'),
  userData: { someKey: 1 },
});

describe('implement', () => {
  it('passes parsed input in camelCase and sends the result in wire names', async () => {
    const seen: unknown[] = [];
    const server = await serverWith({
      get: async ({ params, query }) => {
        seen.push(params, query);
        return thing(params.thingId);
      },
      create: async () => thing('x'),
    });
    const response = await server.inject('/api/v1/things/a?max_age=7');
    expect(seen).toEqual([{ thingId: 'a' }, { maxAge: 7 }]);
    expect(response.json()).toEqual({
      thing_id: 'a',
      made_at: '2026-03-01T12:00:00.000Z',
      user_data: { someKey: 1 },
    });
  });

  it('uses the status of the operation unless the handler sets another', async () => {
    const server = await serverWith({
      get: async () => thing('a'),
      create: async ({ body, reply }) => {
        if (body.thingId === 'known') reply.code(200);
        return thing(body.thingId);
      },
    });
    const create = (thingId: string) =>
      server.inject({ method: 'POST', url: '/api/v1/things', payload: { thing_id: thingId } });
    expect((await create('new')).statusCode).toBe(201);
    expect((await create('known')).statusCode).toBe(200);
  });

  it('leaves the response alone when the handler sends it itself', async () => {
    const server = await serverWith({
      get: async ({ reply }) => reply.type('text/plain').serializer(String).send('raw'),
      create: async () => thing('x'),
    });
    expect((await server.inject('/api/v1/things/a')).body).toBe('raw');
  });

  it('rejects input that the schema does not allow before the handler runs', async () => {
    const server = await serverWith({
      get: () => Promise.reject(new Error('must not run')),
      create: () => Promise.reject(new Error('must not run')),
    });
    expect((await server.inject('/api/v1/things/a?space=b')).statusCode).toBe(400);
  });
});

describe('a handler that sends the response itself', () => {
  it.each(['reads the stream to its end', 'disconnects'])(
    'causes no error when the client %s',
    async (what) => {
      const stream = new PassThrough();
      stream.write('event: one\n\n');
      const server = await serverWith({
        get: async ({ reply }) => reply.type('text/event-stream').serializer(String).send(stream),
        create: async () => thing('a'),
      });
      onTestFinished(() => server.close());
      const errors: unknown[] = [];
      server.addHook('onError', async (_request, _reply, error) => void errors.push(error));
      const url = await server.listen({ port: 0, host: '127.0.0.1' });
      const disconnecting = new AbortController();
      const response = await fetch(`${url}/api/v1/things/a`, {
        signal: disconnecting.signal,
        headers: { connection: 'close' },
      });
      if (what === 'disconnects') {
        disconnecting.abort();
        await new Promise((resolve) => stream.once('close', resolve));
      } else {
        stream.end();
        expect(await response.text()).toBe('event: one\n\n');
      }
      await server.close();
      expect(errors).toEqual([]);
    },
  );
});
