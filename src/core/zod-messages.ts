// Messages for invalid input, used as the error map of zod.
import type { $ZodErrorMap, $ZodRawIssue } from 'zod/v4/core';

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const formats: Readonly<Record<string, string>> = {
  guid: 'an id, like 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  base64: 'bytes in base64, nothing else',
  datetime: 'a time in UTC, like 2026-03-01T12:00:00Z',
};

/** Follows the field's name. Undefined: the message of zod is used. */
export const zodErrorMessage: $ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : mustBe(nouns[issue.expected]);
    case 'invalid_format':
      return mustBe(formats[issue.format]);
    case 'invalid_value':
      return mustBe(`${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`);
    case 'unrecognized_keys':
      return 'is not known here';
    case 'too_small':
      return bounded(issue, 'at least', issue.minimum);
    case 'too_big':
      return bounded(issue, 'at most', issue.maximum);
    default:
      return undefined;
  }
};

const mustBe = (what: string | undefined): string | undefined =>
  what === undefined ? undefined : `must be ${what}`;

function bounded(
  { origin, inclusive }: $ZodRawIssue & { readonly origin: string; readonly inclusive?: boolean },
  how: 'at least' | 'at most',
  limit: number | bigint,
): string | undefined {
  if (origin === 'string') return limit === 1 ? 'must not be empty' : `must have ${how} ${limit} characters`;
  if (origin === 'array') return `must have ${how} ${limit} ${limit === 1 ? 'entry' : 'entries'}`;
  if (inclusive === false) return `must be ${how === 'at least' ? 'more' : 'less'} than ${limit}`;
  return `must be ${how} ${limit}`;
}
