// Checks the fields of an object that somebody sent: all problems at once.
import type { WorkflowProblem } from '../ports.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** What the value must be, as words that follow the field's name; null when it is. */
export type FieldCheck = (value: unknown) => string | null;

/** `what` names the thing whose fields these are: "the workflow structure". Null counts as left out. */
export function checkFields(
  values: Fields,
  checks: Readonly<Record<string, FieldCheck>>,
  what: string,
): readonly WorkflowProblem[] {
  const known = Object.keys(checks);
  return Object.entries(values).flatMap(([field, value]) => {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    const message = check
      ? isGiven(value)
        ? check(value)
        : null
      : `is not known to ${what}${known.length === 0 ? '' : `; it knows ${known.join(', ')}`}`;
    return message === null ? [] : [{ field: field.slice(0, longestField), message }];
  });
}

/** Names of unknown fields are shown, and may be a book. */
const longestField = 100;

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** What is neither blank nor without a shape. */
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

export function text(longest: number): FieldCheck {
  return (value) => {
    if (typeof value === 'string' && visible.test(value) && value.length <= longest) return null;
    const rule = `must be text of 1 to ${longest.toLocaleString('en')} characters, not blanks alone`;
    // A field that a form has twice is a list, too.
    return Array.isArray(value) ? `${rule}, and was sent more than once or as a list: say it once` : rule;
  };
}

export function number(min: number, max: number): FieldCheck {
  return (value) =>
    typeof value === 'number' && value >= min && value <= max
      ? null
      : `must be a number from ${min} to ${max}`;
}

export function whole(min: number, max: number): FieldCheck {
  return (value) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max
      ? null
      : `must be a whole number from ${min} to ${max.toLocaleString('en')}`;
}

export const flag: FieldCheck = (value) => (typeof value === 'boolean' ? null : 'must be true or false');

/** Checked elsewhere. */
export const anything: FieldCheck = () => null;

/** Files come with a request, not in its fields. */
export const notAsField: FieldCheck = () =>
  'must be sent as files of a form (multipart/form-data), each with its name; here they are JSON or text';
