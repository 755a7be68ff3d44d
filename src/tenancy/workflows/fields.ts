// Options and parameters of workflows: field types, and the options `model` and `space` that several of them have.
import { z } from 'zod';
import type { Fields, LanguageModel, SpaceCheck, WorkflowProblem } from './workflow.ts';

/** Names of unknown fields are shown, and may be very long. */
const maxFieldLength = 100;

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Anything that is neither blank nor invisible. */
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

export function text(maxLength: number) {
  const rule = `must be text of 1 to ${maxLength.toLocaleString('en')} characters, not only blanks`;
  return z.custom<string>(
    (value) => typeof value === 'string' && visible.test(value) && value.length <= maxLength,
    // A field that occurs twice in a form is a list.
    { error: ({ input }) => (Array.isArray(input) ? `${rule}; send it once, not as a list` : rule) },
  );
}

export function number(min: number, max: number) {
  const error = `must be a number from ${min} to ${max}`;
  return z.number({ error }).min(min, error).max(max, error);
}

export function integer(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max.toLocaleString('en')}`;
  return z.int({ error }).min(min, error).max(max, error);
}

export const flag = z.boolean({ error: 'must be true or false' });

/** Checked elsewhere. */
export const anything = z.unknown();

/** Files are not part of the fields of a request. */
export const filesOnly = z.custom(() => false, {
  error:
    'must be sent as files of a form (multipart/form-data), each with its name; here they are JSON or text',
});

/** All problems of the fields. `owner` names what they belong to: "the workflow structure". Null counts as absent. */
export function checkFields(
  values: Fields,
  shape: Readonly<Record<string, z.ZodType>>,
  owner: string,
): readonly WorkflowProblem[] {
  const known = Object.keys(shape);
  const unknownField = `is not known to ${owner}${known.length === 0 ? '' : `; it knows ${known.join(', ')}`}`;
  return Object.entries(values).flatMap(([name, value]) => {
    const field = name.slice(0, maxFieldLength);
    const type = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (!type) return [{ field, message: unknownField }];
    const issue = isGiven(value) ? type.safeParse(value).error?.issues[0] : undefined;
    return issue ? [{ field, message: issue.message }] : [];
  });
}

export const modelFields = {
  model: text(2_000),
  temperature: number(0, 2),
  max_tokens: integer(1, 1_000_000),
} as const;

export interface ModelChoice {
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
}

/** From validated options. */
export function modelChoice(options: Fields): ModelChoice {
  const { model, temperature, max_tokens: maxTokens } = options;
  return {
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof maxTokens === 'number' ? { maxTokens } : {}),
  };
}

/** An unknown model is not a reason to reject a deployment: it may be created later. */
export async function modelWarnings(
  { unknownIn }: Pick<LanguageModel, 'unknownIn'>,
  options: Fields,
): Promise<readonly string[]> {
  const { model } = modelChoice(options);
  const unknown = model === undefined ? [] : await unknownIn(model);
  return unknown.map(
    (name) =>
      `There is no model "${name}": every request will fail until one is created ("headworks models --help") or the options name another.`,
  );
}

export const spaceField = { space: text(100) } as const;

/** Without the option the default space is created on first use. */
export async function spaceProblems(
  spaces: SpaceCheck,
  { space }: Fields,
  organizationId: string,
): Promise<readonly WorkflowProblem[]> {
  if (typeof space !== 'string' || !spaceField.space.safeParse(space).success) return [];
  const message = await spaces.spaceProblem(organizationId, space);
  return message === null ? [] : [{ field: 'space', message }];
}

/** As sentences, for a deployment whose space may have been deleted. */
export async function spaceWarnings(
  spaces: SpaceCheck,
  options: Fields,
  organizationId: string,
): Promise<readonly string[]> {
  const problems = await spaceProblems(spaces, options, organizationId).catch(() => []);
  return problems.map(
    ({ message }) => `The space ${JSON.stringify(options['space'])} ${message}. Calls will fail until then.`,
  );
}
