// Rules for names of keys and deployments, and input checks and errors that several files share.
import { CoreError, isUuid } from '../core/index.ts';

const maxNameLength = 100;
/** Counts code points, not UTF-16 units. */
const withinMaxLength = /^.{1,100}$/su;

/** Control, format, unassigned and private characters, spaces other than U+0020, and characters without a glyph. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** The name as it is stored (NFC). Fails with INPUT_INVALID. */
export function displayName(given: string, field = 'name'): string {
  const name = given.normalize('NFC');
  const problem = nameProblem(name);
  if (problem !== null) throw invalidName(field, problem);
  return name;
}

function nameProblem(name: string): string | null {
  if (name === '') return 'must not be empty';
  if (!withinMaxLength.test(name)) return `must have at most ${maxNameLength} characters`;
  if (invisible.test(name)) return 'must not contain control characters or invisible characters';
  if (name.startsWith(' ') || name.endsWith(' ')) return 'must not begin or end with a space';
  return /[\p{L}\p{N}]/u.test(name) ? null : 'must contain at least one letter or digit';
}

const deploymentNameShape = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** What is wrong with a deployment's name; null when it is valid. */
export function deploymentNameProblem(name: string): string | null {
  if (name.length < 1 || name.length > maxNameLength) return `must have 1 to ${maxNameLength} characters`;
  if (isUuid(name)) return 'must not have the form of an id: it would be mistaken for one';
  if (deploymentNameShape.test(name)) return null;
  return 'must consist of letters (a to z), digits, "-", "_" and ".", and begin with a letter or digit: it is part of a URL';
}

/** A given name or id for a message: truncated, and safe on a terminal. */
export function quoteName(name: string): string {
  const cut = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return JSON.stringify(cut.toWellFormed().replace(/\p{C}/gu, '\ufffd'));
}

export const invalidName = (field: string, message: string): CoreError => invalidInput([{ field, message }]);

/** One error for all problems, each with its field. */
export function invalidInput(
  problems: readonly { readonly field: string; readonly message: string }[],
): CoreError {
  const list = problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new CoreError('INPUT_INVALID', `Nothing was changed. ${asSentence(list)}`, {
    details: { problems },
  });
}

/** `holder` is the name as its holder spells it. */
export const nameTaken = (what: 'organization' | 'deployment', holder: string): CoreError =>
  new CoreError(
    'CONFLICT',
    `There is already ${what === 'organization' ? 'an organization' : 'a deployment of this organization'} ` +
      `named ${quoteName(holder)}; names are compared ignoring case. Choose another name.`,
  );

export const organizationDeleted = (): CoreError =>
  new CoreError('NOT_FOUND', 'The organization was deleted meanwhile.');

export const hasRunningExecutions = (what: 'organization' | 'deployment'): CoreError =>
  new CoreError(
    'CONFLICT',
    `The ${what} has unfinished executions ("headworks executions list"). Cancel them or wait, then delete it.`,
  );

/** The text with exactly one full stop at the end. */
export const asSentence = (text: string): string => `${text.trimEnd().replace(/\.$/, '')}.`;

/** Deeper than any sensible request. */
export const maxDepth = 100;

/** Whether a value is nested so deeply that recursive code would exhaust the stack. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= maxDepth; depth++) {
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? (Object.values(item) as unknown[]) : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}
