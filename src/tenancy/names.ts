// What organizations, keys and deployments may be called.
import { CoreError, isUuid } from '../core/index.ts';
import { asSentence } from './as-sentence.ts';

const longestName = 100;
/** Counts characters, not the halves that some are made of. */
const atMostLongest = /^.{1,100}$/su;

/** Control and format characters, unassigned and private ones, spaces other than the plain one, and what shows nothing. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** The name as it is kept (NFC). Fails with INPUT_INVALID. */
export function displayName(given: string, field = 'name'): string {
  const name = given.normalize('NFC');
  const problem = problemOf(name);
  if (problem !== null) throw invalidName(field, problem);
  return name;
}

/** As `displayName`, and without what would be taken for an id or for more than one part of an address. */
export function organizationName(given: string): string {
  const name = displayName(given);
  if (/[/\\]/.test(name)) throw invalidName('name', 'must hold no slash: it is part of an address');
  if (nameKey(name).startsWith('org_'))
    throw invalidName('name', 'must not begin with "org_": it would be taken for an id');
  return name;
}

function problemOf(name: string): string | null {
  if (name === '') return 'must not be empty';
  if (!atMostLongest.test(name)) return `must have at most ${longestName} characters`;
  if (invisible.test(name)) return 'must hold no control characters, and none that cannot be seen';
  if (name.startsWith(' ') || name.endsWith(' ')) return 'must neither begin nor end with a space';
  return /[\p{L}\p{N}]/u.test(name) ? null : 'must hold at least one letter or digit';
}

const deploymentNameShape = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** What is wrong with a deployment's name; null when nothing is. */
export function deploymentNameProblem(name: string): string | null {
  if (name.length < 1 || name.length > longestName) return `must have 1 to ${longestName} characters`;
  if (isUuid(name)) return 'must not have the form of an id: it would be taken for one';
  if (deploymentNameShape.test(name)) return null;
  return 'must consist of letters (a to z), digits, "-", "_" and ".", and begin with a letter or digit: it is part of an address';
}

/**
 * Two names with the same key are the same to people: their case, full and half width, ligatures and the number of
 * spaces do not tell them apart. Letters of different alphabets that look alike do.
 */
export function nameKey(name: string): string {
  // Large, then small: "ß" and "SS" are the same name.
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC').replace(/\s+/g, ' ');
}

/** A name or id that somebody gave, for a message: cut, and harmless on a terminal. */
export function shownName(name: string): string {
  const cut = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return JSON.stringify(cut.toWellFormed().replace(/\p{C}/gu, '\ufffd'));
}

const invalidName = (field: string, message: string): CoreError => invalidInput([{ field, message }]);

/** All problems at once, each with its field. */
export function invalidInput(
  problems: readonly { readonly field: string; readonly message: string }[],
): CoreError {
  const list = problems.map(({ field, message }) => `${field}: ${message}`).join('; ');
  return new CoreError('INPUT_INVALID', `Nothing was changed. ${asSentence(list)}`, {
    details: { problems },
  });
}
