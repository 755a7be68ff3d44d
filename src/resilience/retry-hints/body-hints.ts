// Hints in the bodies of refusals: Gemini's RetryInfo, OpenRouter's headers in the body, Cloudflare's daily quota, prose.
import { compactDurationMs, plausibleMs, proseMs } from './durations.ts';

/** Larger bodies are not error messages; they are not read. */
const longestBody = 64 * 1024;

type Json = Readonly<Record<string, unknown>>;

export interface BodyHint {
  readonly retryAfterMs: number;
  readonly source: string;
}

/** The JSON object in a body; of an array (Gemini sends one element) its first. Undefined for anything else. */
export function jsonBody(body: string): Json | undefined {
  if (body.length > longestBody) return undefined;
  try {
    const parsed: unknown = JSON.parse(body);
    return asObject(Array.isArray(parsed) ? parsed[0] : parsed);
  } catch {
    return undefined;
  }
}

/** Every sentence meant for people in an error body: its message fields, or the text itself when it is no JSON. */
export function messagesIn(body: string): readonly string[] {
  const json = jsonBody(body);
  if (!json) return body.length > longestBody ? [] : [body];
  const places = [json, asObject(json['error']), ...asArray(json['errors']).map(asObject)];
  return places.flatMap((place) =>
    ['message', 'error', 'detail', 'title', 'type', 'reason']
      .map((field) => place?.[field])
      .filter((value) => typeof value === 'string'),
  );
}

/** What the body says of when to come back. `readHeaders` reads the headers that OpenRouter wraps in the body. */
export function bodyHint(
  body: string,
  now: number,
  readHeaders: (headers: Readonly<Record<string, string>>) => BodyHint | undefined,
): BodyHint | undefined {
  const json = jsonBody(body);
  return (
    (json && (retryInfo(json) ?? wrappedHeaders(json, readHeaders))) ??
    dailyAllocation(json, body, now) ??
    prose(body)
  );
}

/** Gemini: `error.details[]` has `{"@type": "…google.rpc.RetryInfo", "retryDelay": "47.43s"}`. */
function retryInfo(json: Json): BodyHint | undefined {
  for (const detail of asArray(asObject(json['error'])?.['details']).map(asObject)) {
    const type = detail?.['@type'];
    const delay = detail?.['retryDelay'];
    if (typeof type !== 'string' || !type.endsWith('google.rpc.RetryInfo') || typeof delay !== 'string')
      continue;
    const retryAfterMs = plausibleMs(compactDurationMs(delay));
    if (retryAfterMs !== undefined) return { retryAfterMs, source: 'body RetryInfo' };
  }
  return undefined;
}

/** OpenRouter: `error.metadata.headers` holds what its upstream sent. */
function wrappedHeaders(
  json: Json,
  readHeaders: (headers: Readonly<Record<string, string>>) => BodyHint | undefined,
): BodyHint | undefined {
  const headers = asObject(asObject(asObject(json['error'])?.['metadata'])?.['headers']);
  if (!headers) return undefined;
  const plain = Object.entries(headers)
    .filter((header): header is [string, string | number] => ['string', 'number'].includes(typeof header[1]))
    .map(([name, value]) => [name.toLowerCase(), String(value)] as const);
  const hint = readHeaders(Object.fromEntries(plain));
  return hint && { ...hint, source: `body ${hint.source}` };
}

/** Cloudflare: code 4006, or "daily free allocation" used up: both end at midnight UTC. */
function dailyAllocation(json: Json | undefined, body: string, now: number): BodyHint | undefined {
  const hasCode = asArray(json?.['errors']).some((error) => asObject(error)?.['code'] === 4006);
  if (!hasCode && !messagesIn(body).some((message) => /\bdaily free allocation\b/i.test(message)))
    return undefined;
  const day = 86_400_000;
  return {
    retryAfterMs: Math.ceil((Math.floor(now / day) + 1) * day - now),
    source: 'body daily allocation',
  };
}

function prose(body: string): BodyHint | undefined {
  for (const message of messagesIn(body)) {
    const retryAfterMs = proseMs(message);
    if (retryAfterMs !== undefined) return { retryAfterMs, source: 'body message' };
  }
  return undefined;
}

function asObject(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
