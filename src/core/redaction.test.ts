import * as fc from 'fast-check';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../test/support/longest-task.ts';
import { secrets } from '../../test/support/secrets.ts';
import { Redactor, plainValue } from './redaction.ts';
import { CoreError } from './errors.ts';

const json = (value: unknown) => JSON.stringify(value);

/** Encodings of a secret in text. Each returns the text and the encoded secret. */
const writings: Record<string, (secret: string) => readonly [text: string, written: string]> = {
  plain: (secret) => [`before ${secret} after`, secret],
  json: (secret) => [json({ note: `x${secret}y` }), json(secret).slice(1, -1)],
  'json in json': (secret) => [
    json({ a: json({ b: secret }) }),
    json(json(secret).slice(1, -1)).slice(1, -1),
  ],
  'json in json in json': (secret) => {
    const twice = json(json(secret).slice(1, -1)).slice(1, -1);
    return [json(json(json(secret))), json(twice).slice(1, -1)];
  },
  'encoded for a URL': (secret) => [`q=${encodeURIComponent(secret)}&r=1`, encodeURIComponent(secret)],
  'small hexadecimal digits': (secret) => {
    const small = encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase());
    return [`q=${small}&r=1`, small];
  },
  'a form field': (secret) => {
    const form = new URLSearchParams({ field: secret }).toString();
    return [form, form.slice('field='.length)];
  },
  'the password of a URL': (secret) => {
    const url = new URL('postgres://user@localhost/db');
    url.password = secret;
    return [url.href, url.password];
  },
  'the path of a URL': (secret) => {
    const url = new URL('http://localhost/');
    url.pathname = `/x/${encodeURIComponent(secret)}`;
    return [url.href, encodeURIComponent(secret)];
  },
  base64: (secret) => [Buffer.from(secret).toString('base64'), Buffer.from(secret).toString('base64')],
  base64url: (secret) => [
    Buffer.from(secret).toString('base64url'),
    Buffer.from(secret).toString('base64url'),
  ],
  'an error message': (secret) => [new Error(`no: ${secret}`).message, secret],
  'an inspected object': (secret) => [inspect({ secretly: secret }), inspect(secret).slice(1, -1)],
};

describe('Redactor', () => {
  it.each(Object.entries(writings))('finds a known secret written as %s', (_, write) => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const [text, written] = write(secret);
        // A secret that the encoding changed beyond recognition cannot leak.
        fc.pre(text.includes(written));
        const redactor = new Redactor();
        redactor.add(secret);
        const clean = redactor.text(text);
        expect(clean).not.toContain(written);
        expect(clean).not.toContain(secret);
        expect(clean).toContain('[redacted]');
      }),
      { numRuns: 200 },
    );
  });

  it('finds a known secret in the credentials of basic authentication', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 6 }),
        secrets,
        fc.string({ maxLength: 6 }),
        (user, secret, after) => {
          const redactor = new Redactor();
          redactor.add(secret);
          const encoded = Buffer.from(`${user}:${secret}${after}`).toString('base64');
          const clean = redactor.text(`sent ${encoded} there`);
          expect(Buffer.from(clean.split(' ')[1] ?? '', 'base64').toString()).not.toContain(secret);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('finds secrets anywhere in a value, keys and errors included', () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const redactor = new Redactor();
        redactor.add(secret);
        const error = new Error(`a ${secret}`, { cause: new TypeError(`b ${secret}`) });
        const value = { [secret]: [{ deep: `${secret}!` }], error, map: new Map([[secret, secret]]) };
        const clean = JSON.stringify(redactor.value(value, { stacks: true }));
        expect(clean).not.toContain(JSON.stringify(secret).slice(1, -1));
      }),
      { numRuns: 200 },
    );
  });

  it('finds the longer of two secrets with a common prefix, whichever was added first', () => {
    for (const order of [
      ['hunter22', 'hunter22-and-more'],
      ['hunter22-and-more', 'hunter22'],
    ]) {
      const redactor = new Redactor();
      for (const secret of order) redactor.add(secret);
      expect(redactor.text('x hunter22-and-more y hunter22 z')).toBe('x [redacted] y [redacted] z');
    }
  });

  it('keeps text without secrets unchanged', () => {
    const redactor = new Redactor();
    redactor.add('correct horse battery staple');
    redactor.add('abc');
    redactor.add('reda');
    for (const text of [
      '',
      'The abc of a token bucket: 5 tokens are left.',
      'Use basic authentication, or a token generated at first start.',
      'Unexpected token } in JSON at position 5',
      'see https://example.com:8080/a?b=c#d and mailto:someone@example.com',
      '{"secret":false,"password":null,"max_tokens":4096}',
      'ssh://git@example.com/x',
      'reda',
    ])
      expect(redactor.text(text)).toBe(text);
  });

  it.each([
    ['postgres://user:s3cr3t@host/db', 'postgres://user:[redacted]@host/db'],
    ['redis://:s3cr3t@host', 'redis://:[redacted]@host'],
    ['https://ghp_0123456789abcdefghij@example.com', 'https://[redacted]@example.com'],
    ['Authorization: Digest username="x"', 'Authorization: [redacted]"x"'],
    ['authorization: Bearer abcdefgh.ijkl, then', 'authorization: [redacted]'],
    ['{"authorization":"Basic dXNlcjpwYXNz"}', '{"authorization":"[redacted]"}'],
    ['{"set-cookie":"id=1; Path=/"}', '{"set-cookie":"[redacted]"}'],
    ['sent bearer abcdefgh12', 'sent bearer [redacted]'],
    ['Basic dXNlcjpwYXNz', 'Basic [redacted]'],
    ['?api_key=abcd1234&x=1', '?api_key=[redacted]&x=1'],
    ['x-api-key: abcd1234', 'x-api-key: [redacted]'],
    ['{"clientSecret":"ab\\"cd","x":1}', '{"clientSecret":"[redacted]","x":1}'],
    [
      '{"a":"{\\"password\\":\\"abcd efgh\\",\\"x\\":1}"}',
      '{"a":"{\\"password\\":\\"[redacted]\\",\\"x\\":1}"}',
    ],
    ["password='it is long', x", "password='[redacted]', x"],
    ['PGPASSWORD=abcd1234 psql', 'PGPASSWORD=[redacted] psql'],
    ['"token": "abcd1234"', '"token": "[redacted]"'],
  ])('masks what looks like a secret: %s', (text, clean) => {
    const redactor = new Redactor();
    expect(redactor.text(text)).toBe(clean);
    expect(redactor.text(clean)).toBe(clean);
  });

  it('masks the value of a field named like a secret', () => {
    const value = {
      apiKey: 'a',
      admin_token: 12345,
      Authorization: ['x', 'y'],
      password: 'with "quotes" and spaces',
      secret: false,
      token: null,
      cookie: { name: 'kept' },
      tokens: 5,
      key: 'kept',
    };
    expect(new Redactor().value(value)).toEqual({
      ...value,
      apiKey: '[redacted]',
      admin_token: '[redacted]',
      Authorization: '[redacted]',
      password: '[redacted]',
    });
  });

  it('runs in time linear in the length of the text', () => {
    const redactor = new Redactor();
    redactor.add('pa"ss\\\\wo rd$^.*');
    redactor.add('another one, with: @/?#');
    const pieces = Array.of(
      'a',
      '://',
      '://a:',
      ':a',
      '@',
      '%5c',
      '\\',
      '\\"',
      'pa\\\\\\"',
      'secret\\\\\\\\',
    ).concat(
      ['password=', 'password="', `password='x"`, `password${' '.repeat(30)}`, 'token:"'],
      ['authorization:', 'basic ', 'bearer      '],
    );
    const before = process.threadCpuUsage();
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(200_000 / piece.length));
      expect(redactor.text(`${text}x`).length).toBeGreaterThan(0);
      expect(redactor.text(`password="${text}`).length).toBeGreaterThan(0);
    }
    // 7 MB in about half a second; a quadratic pattern would take minutes.
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(15_000);
  });
});

describe('content', () => {
  const redactor = new Redactor();
  redactor.add('postgres');
  redactor.add('hw_admin_0123456789"quoted');

  it('is redacted of known secrets that cannot be ordinary words, also inside JSON', () => {
    const text = JSON.stringify({ note: 'hw_admin_0123456789"quoted' });
    expect(redactor.content(text)).toBe('{"note":"[redacted]"}');
  });

  it('is otherwise unchanged: words, fields and patterns are kept', () => {
    const text = '{"password":"hunter2-hunter2","text":"postgres: Bearer authentication, token=abcdefgh1"}';
    expect(redactor.content(text)).toBe(text);
  });
});

describe('patterns of unknown secrets', () => {
  it.each([
    ['postgres://u:p@ss/w0rd@h/db', 'postgres://u:[redacted]@h/db'],
    ['key sk-proj-0123456789abcdef', 'key [redacted]'],
    ['ghp_0123456789abcdefghij is one', '[redacted] is one'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[redacted]'],
    ['task sk-1 and eyJ are words', 'task sk-1 and eyJ are words'],
  ])('makes %j %j', (text, clean) => {
    expect(new Redactor().text(text)).toBe(clean);
  });
});

describe('plainValue', () => {
  it('keeps plain data unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.stringify(plainValue(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('turns any value into JSON', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }),
        (value) => {
          expect(() => JSON.stringify(plainValue({ value }))).not.toThrow();
        },
      ),
    );
  });

  it('writes errors as class, code, message and cause', () => {
    const cause = Object.assign(new TypeError('below'), { code: 'EBELOW' });
    const error = new CoreError('NOT_FOUND', 'Not there.', { cause });
    expect(plainValue(error)).toEqual({
      class: 'CoreError',
      code: 'NOT_FOUND',
      message: 'Not there.',
      cause: { class: 'TypeError', code: 'EBELOW', message: 'below' },
    });
    expect(plainValue(new AggregateError([new Error('one')], 'several'))).toEqual({
      class: 'AggregateError',
      message: 'several',
      errors: [{ class: 'Error', message: 'one' }],
    });
    expect(plainValue(new Error('x'), { stacks: true })).toMatchObject({
      stack: expect.stringContaining('redaction.test.ts') as string,
    });
  });

  it('represents values that JSON lacks', () => {
    expect(
      plainValue({
        date: new Date(0),
        badDate: new Date(Number.NaN),
        bytes: new Uint8Array(3),
        map: new Map([['a', 1]]),
        set: new Set([1, undefined]),
        url: new URL('http://example.com/'),
        big: 10n,
        infinite: Number.POSITIVE_INFINITY,
        nothing: undefined,
        code: () => 1,
        list: [undefined, 1],
      }),
    ).toEqual({
      date: '1970-01-01T00:00:00.000Z',
      badDate: 'Invalid Date',
      bytes: '[3 bytes]',
      map: { a: 1 },
      set: [1, null],
      url: 'http://example.com/',
      big: '10',
      infinite: 'Infinity',
      list: [null, 1],
    });
  });

  it('replaces circular references and deep levels by a note, but repeats an object that occurs twice', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = { again: circle };
    expect(plainValue(circle)).toEqual({ self: { again: '[circular]' } });
    const shared = { a: 1 };
    expect(plainValue([shared, shared])).toEqual([shared, shared]);
    let deep: unknown = 'bottom';
    for (let level = 0; level < 80; level += 1) deep = [deep];
    expect(JSON.stringify(plainValue(deep))).toContain('[too deep]');
    const error = new Error('loop');
    error.cause = error;
    expect(plainValue(error)).toMatchObject({ cause: '[circular]' });
  });

  it('survives getters and toJSON that throw', () => {
    const hostile = {
      get field(): string {
        throw new Error('no');
      },
    };
    const worse = {
      toJSON: () => {
        throw new Error('no');
      },
    };
    expect(plainValue({ hostile, worse, fine: 1 })).toEqual({
      hostile: '[unreadable]',
      worse: '[unreadable]',
      fine: 1,
    });
  });

  it('does not let a key change the prototype', () => {
    const plain = plainValue(JSON.parse('{"__proto__": {"isAdmin": true}}')) as Record<string, unknown>;
    expect(plain['isAdmin']).toBeUndefined();
    expect(Object.keys(plain)).toEqual(['__proto__']);
  });

  it('applies its rules to texts, keys and fields', () => {
    const rules = {
      text: (text: string) => text.toUpperCase(),
      field: (key: string) => (key === 'hidden' ? 'masked' : undefined),
    };
    expect(plainValue({ a: ['b'], hidden: { c: 'd' } }, rules)).toEqual({ A: ['B'], HIDDEN: 'masked' });
  });
});

it.each([
  ['parts of tokens', 'eyJ-'.repeat(25_000)],
  ['passwords', 'password="'.repeat(10_000)],
  ['addresses', '://a:'.repeat(10_000)],
])('does not block the main thread with thousands of %s (B1)', async (_, text) => {
  expect(await repeatedTaskMs(() => new Redactor().text(text))).toBeLessThan(maxTaskMs);
});
