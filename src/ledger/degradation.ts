// Makes a degradation fit to be stored: clean of secrets, of what Postgres refuses, and of a bounded size.
import { plainValue } from '../core/index.ts';
import type { Redactor } from '../core/index.ts';
import type { Degradation } from './ports.ts';

/** Kind and subject together stay well below what an index entry may hold (2,704 bytes). */
const longest = { kind: 100, subject: 500, cause: 200, message: 2_000, details: 8_000 } as const;

/** Postgres takes neither NUL nor half a surrogate pair; a text that is too long is cut with an ellipsis. */
export function storable(text: string, maxLength: number): string {
  const valid = text.replaceAll('\0', '').toWellFormed();
  return valid.length <= maxLength ? valid : `${valid.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** What the store gets to see of a degradation. */
export function storableDegradation(degradation: Degradation, redactor: Redactor): Required<Degradation> {
  const clean = (text: unknown, maxLength: number) => storable(redactor.text(String(text)), maxLength);
  return {
    kind: clean(degradation.kind, longest.kind),
    subject: clean(degradation.subject, longest.subject),
    cause: clean(degradation.cause, longest.cause),
    message: clean(degradation.message, longest.message),
    details: storableDetails(degradation.details ?? {}, redactor),
  };
}

function storableDetails(
  details: Readonly<Record<string, unknown>>,
  redactor: Redactor,
): Readonly<Record<string, unknown>> {
  const plain = plainValue(redactor.value(details), { text: (text) => storable(text, longest.details) });
  const { length } = JSON.stringify(plain);
  return length <= longest.details
    ? (plain as Record<string, unknown>)
    : { omitted: `${length} characters of details` };
}
