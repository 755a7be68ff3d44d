// Secrets that are hard to detect, texts that contain them, and a search for them in output.
import * as fc from 'fast-check';
import { inspect } from 'node:util';

/** Quotes, backslashes, controls, regex signs, reserved characters of URLs, other scripts. */
const awkward = Array.from('"\'\\/:@?#&=+%$^*()[]{}|.!~`<>;, -_\n\r\t\0ß字😀');

/** In the format of Headworks tokens: unchanged in headers, URLs and ids. */
const tokens = fc
  .string({ unit: fc.constantFrom('a', 'b', 'X', 'Z', '0', '9', '-', '_'), minLength: 16, maxLength: 40 })
  .map((text) => `hw_admin_${text}`);

const awkwardSecrets: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(...awkward),
      fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 3 }),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }),
    ),
    { minLength: 4, maxLength: 16 },
  )
  .map((parts) => parts.join(''))
  // A single word could be ordinary text: `Redactor.content` keeps it.
  .filter((secret) => /[^a-z]/i.test(secret))
  .filter(
    (secret) =>
      Array.from(secret.trim()).length >= 8 && !'[redacted]'.includes(secret) && secret.isWellFormed(),
  );

export const secrets: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: awkwardSecrets },
  { weight: 1, arbitrary: tokens },
);

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
const smallHex = (text: string): string => text.replace(/%../g, (code) => code.toLowerCase());

/** Every way in which the secret may have been written. */
function writingsOf(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret);
  const plain = [secret, encoded, smallHex(encoded), new URLSearchParams({ x: secret }).toString().slice(2)];
  const once = plain.map(escaped);
  const bytes = Buffer.from(secret);
  return [
    ...new Set([
      ...plain,
      ...once,
      ...once.map(escaped),
      inspect(secret).slice(1, -1),
      bytes.toString('base64'),
      bytes.toString('base64url'),
    ]),
  ];
}

/** The first form of the secret that is in one of the texts, with its context. */
export function findLeak(secret: string, texts: readonly string[]): string | undefined {
  for (const writing of writingsOf(secret))
    for (const text of texts) {
      const index = text.indexOf(writing);
      if (index >= 0) return `…${text.slice(Math.max(index - 60, 0), index + writing.length + 20)}…`;
    }
  return undefined;
}

/** Texts that contain the secret: plain, in URLs, headers, JSON, forms, error messages of other programs. */
export function hiddenIn(secret: string): readonly string[] {
  const url = new URL('postgres://user@localhost:5432/db');
  url.password = secret;
  const basic = Buffer.from(`user:${secret}`).toString('base64');
  return [
    secret,
    `connect to ${url.href} failed`,
    `GET https://example.com/a?key=${encodeURIComponent(secret)}&x=1`,
    new URLSearchParams({ grant: 'x', value: secret }).toString(),
    `authorization: Bearer ${secret}`,
    `Proxy said: Basic ${basic}`,
    JSON.stringify({ note: secret }),
    JSON.stringify({ body: JSON.stringify({ deep: [secret] }) }),
    inspect({ options: { value: secret } }),
  ];
}

/** An error whose message, cause, aggregate, stack and own fields hold the secret. */
export function errorWith(secret: string): Error {
  const [first = '', ...others] = hiddenIn(secret);
  const cause = new AggregateError(
    others.map((text) => new TypeError(text)),
    `several: ${first}`,
  );
  return Object.assign(new Error(`It broke: ${first}`, { cause }), { url: first, code: 'EBROKEN' });
}

/** Every string in a value, keys included. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsIn(item)]);
}
