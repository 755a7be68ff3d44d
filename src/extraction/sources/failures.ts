// Failures of a call, made from answers that are not the one hoped for.
import type { FailureKind, HttpFailureClass } from '../../resilience/index.ts';
import { classifyHttpFailure } from '../../resilience/index.ts';
import { FetchFailure } from '../errors.ts';
import type { Answer } from './answer.ts';

/** A class for what no status tells. A timeout may be over the next time; nothing else of this kind is. */
export function failureOfKind(kind: FailureKind, status?: number): HttpFailureClass {
  return { kind, isTransient: kind === 'timeout', status, hint: undefined };
}

/** The failure that a refused answer is, with the server's own reason if it gave one. */
export function refusal(answer: Answer, now: number): FetchFailure {
  const body = Buffer.from(answer.bytes).toString();
  const failure = classifyHttpFailure({ status: answer.status, headers: answer.headers, body }, now);
  const reason = reasonIn(body);
  return new FetchFailure(
    failure,
    `${answer.label} was answered with ${answer.status}${reason === undefined ? '' : `: ${reason}`}`,
  );
}

/** Fails unless the body begins as JSON does. It is not parsed here: that is the worker threads' part. */
export function requireJson(answer: Answer): void {
  const first = answer.bytes.find((byte) => !whitespace.has(byte));
  if (first !== undefined && beginnings.has(first)) return;
  const what =
    first === undefined ? 'an empty body' : `${answer.headers['content-type'] ?? 'something'}, not JSON`;
  throw new FetchFailure(
    failureOfKind('malformed', answer.status),
    `${answer.label} was answered with ${what}.`,
  );
}

/** Space, tab, line feed, carriage return, and the byte order mark of UTF-8. */
const whitespace: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
/** `[` and `{`. */
const beginnings: ReadonlySet<number> = new Set([0x5b, 0x7b]);

/** The body as an object, or undefined for anything else. */
export function jsonObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function reasonIn(body: string): string | undefined {
  const json = jsonObject(Buffer.from(body));
  const reason = [json?.['message'], json?.['error_description'], json?.['error']].find(
    (text) => typeof text === 'string',
  );
  if (typeof reason !== 'string' || reason === '') return undefined;
  // Not cut: a secret in it must be found whole first (`redactedSource`).
  return reason.replaceAll(/\s+/g, ' ');
}
