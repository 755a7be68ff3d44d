// Mail addresses and chat handles, and the names that are spelled in them.
import { isEveryday, isGivenName } from './lexicon.ts';
import { sharedNames } from './name-cues.ts';

export interface Address {
  readonly start: number;
  readonly end: number;
  readonly surface: string;
  /** Title case, when the address spells a first and a last name. */
  readonly name: string | null;
  readonly email: string | null;
}

/** Only begun where a word begins, and bounded: linear on any text. */
const mail =
  /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,5}/gu;
/** `@ann.lee`, and `ann.lee:` that begins a line, perhaps behind the time. */
const mentioned =
  /(?<![\p{L}\p{N}.@])@(\p{Ll}[\p{Ll}\p{N}]{0,30}[._-]\p{Ll}[\p{Ll}\p{N}]{1,30})(?![\p{L}\p{N}@])/gu;
const speaking =
  /^[ \t]{0,8}(?:\[[^\]\n]{1,40}\][ \t]*|\(?\d{1,2}:\d{2}(?::\d{2})?(?:[ \t]?[AaPp][Mm])?\)?[ \t]*[-–]?[ \t]*)?<?(\p{Ll}[\p{Ll}\p{N}]{0,30}[._]\p{Ll}[\p{Ll}\p{N}]{1,30})>?[ \t]*(?:\([^()\n]{1,40}\)[ \t]*)?:/gmu;

/** Everywhere in the text, in the order of their places. */
export function findAddresses(text: string): readonly Address[] {
  const hasSign = text.includes('@');
  const found = [
    ...[...(hasSign ? text.matchAll(mail) : [])].map(({ 0: surface, index }) => {
      const local = surface.slice(0, surface.indexOf('@')).replace(/\+.*$/, '');
      return { start: index, surface, name: spelledName(local), email: surface.toLowerCase() };
    }),
    ...[...(hasSign ? text.matchAll(mentioned) : [])].map(({ 1: handle = '', index }) => ({
      start: index + 1,
      surface: handle,
      name: handleName(handle),
      email: null,
    })),
    ...[...text.matchAll(speaking)].map(({ 0: whole, 1: handle = '', index }) => ({
      start: index + whole.lastIndexOf(handle),
      surface: handle,
      name: handleName(handle),
      email: null,
    })),
  ];
  return found
    .map((address) => ({ ...address, end: address.start + address.surface.length }))
    .sort((a, b) => a.start - b.start);
}

const namePart = /^\p{L}[\p{L}\p{M}]*$/u;

/** "ann.lee" → "Ann Lee"; null for what spells no first and last name, or a team's. */
export function spelledName(local: string): string | null {
  const parts = local.replace(/\d+$/, '').split(/[._-]/);
  const isName =
    parts.length >= 2 &&
    parts.length <= 3 &&
    parts.every((part) => namePart.test(part) && !sharedNames.has(part.toLowerCase())) &&
    (parts.at(-1)?.length ?? 0) > 1;
  return isName ? parts.map(titled).join(' ') : null;
}

/** The same of a handle. `created_at:` and `owner.name:` are fields: a plain word stands in no handle without a given name. */
function handleName(handle: string): string | null {
  const parts = handle.split(/[._-]/);
  const isField = parts.some(isEveryday) && !parts.some(isGivenName);
  return isField ? null : spelledName(handle);
}

const titled = (part: string): string =>
  part.length === 1 ? `${part.toUpperCase()}.` : part.charAt(0).toUpperCase() + part.slice(1).toLowerCase();
