import { describe, expect, it } from 'vitest';
import type { InMemoryHandler } from '../../../test/support/http-client/in-memory-transport.ts';
import { createInMemoryTransport } from '../../../test/support/http-client/in-memory-transport.ts';
import { offsetPage } from '../../../test/support/extraction/pages.ts';
import { systemClock } from '../../core/index.ts';
import { loadDescription } from './description/load.ts';
import { createHttpSource } from './http-source.ts';
import { buildUrl, fillPath } from './request-builder.ts';

const never = new AbortController().signal;
const secret = 'sk-0123456789abcdef';
const yaml = `name: api
base_url: https://api.test
resources:
  - { name: items, path: /items, id: id, query: { key: "\${KEY}" }, pagination: { type: offset } }`;

const sourceWith = (handler: InMemoryHandler) =>
  createHttpSource(loadDescription(yaml, { env: { KEY: secret }, file: 'api.yaml' }), {
    transport: createInMemoryTransport({ handler }),
    clock: systemClock,
    redact: (text) => text.replaceAll(secret, '[redacted]'),
  });

describe('a source over HTTP', () => {
  it('redacts an error message before it truncates it, so that no part of a secret is left', async () => {
    // The secret crosses the length to which messages are truncated.
    const message = `${'x'.repeat(460)}${secret}`;
    for (let shift = 0; shift < secret.length; shift++) {
      const source = sourceWith(() => ({
        status: 400,
        body: JSON.stringify({ message: message.slice(shift) }),
      }));
      const error = await source.fetch(offsetPage('items', 0, 10), never).catch((cause: unknown) => cause);
      expect(String(error)).not.toContain('sk-0');
    }
  });

  it('names a secret in the address of the next page instead of repeating it', async () => {
    const source = sourceWith(() => ({
      status: 200,
      headers: { link: `</items?offset=10&key=${secret}>; rel="next"` },
      body: '[]',
    }));
    const { nextLink } = await source.fetch(offsetPage('items', 0, 10), never);
    expect(nextLink).toBe('https://api.test/items?offset=10&key=${KEY}');
  });
});

describe('the URL of a page', () => {
  const endpoint = {
    path: '/items',
    query: {},
    pagination: { type: 'link' },
    totalHeader: null,
    emptyWhen: [],
  } as const;
  const next = (cursor: string) => ({
    key: 'k',
    list: { type: 'items', endpoint: '', parents: [] },
    position: { kind: 'cursor', cursor, index: 1, limit: 10 } as const,
  });

  it.each(['https://other.test/items', 'http://api.test/items', '//other.test/x', 'https://api.test:8443/'])(
    'is never at another origin: %s',
    (cursor) => {
      expect(() => buildUrl('https://api.test/v1', endpoint, next(cursor))).toThrow('it is not requested');
    },
  );

  it.each(['', '.', '..'])('has no value that would lead to another path: "%s"', (value) => {
    expect(() => fillPath('/items/{id}/parts', { id: value })).toThrow('is not a valid value for {id}');
  });

  it('has every other value as one segment', () => {
    expect(fillPath('/items/{id}/parts', { id: '../a?b' })).toBe('/items/..%2Fa%3Fb/parts');
  });
});
