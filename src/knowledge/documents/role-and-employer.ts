// What stands behind a name about its work, taken apart: "Engineering Lead, Acme", "CFO of Acme Corp", "Acme".
import { isEveryday, isGivenName, wordKind } from '../text/lexicon.ts';
import {
  departments,
  institutions,
  organizationEndings,
  organizationTails,
  projectEndings,
  roleWords,
} from '../text/name-cues.ts';

export interface Position {
  readonly role?: string;
  readonly organization?: string;
}

const wordsIn = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];

/** A few words, of which one is one of work. */
export function isRole(text: string): boolean {
  const words = wordsIn(text);
  return words.length <= 7 && words.some((word) => roleWords.has(word));
}

/** It says so itself: "Acme Corp", "University of Oxford", "DataSoft", or one that everybody knows. */
export function isSurelyOrganization(name: string): boolean {
  const words = wordsIn(name);
  const [first = '', second] = words;
  if (!isCapitalized(name) || words.length > 6 || roleWords.has(name.toLowerCase())) return false;
  if (wordKind(words.join(' ')) === 'organization') return true;
  if (institutions.has(first) && second === 'of') return true;
  if (words.length === 1) return /\p{Ll}\p{Lu}/u.test(name) && organizationTails.test(name);
  return (
    organizationEndings.has(words.at(-1) ?? '') && !words.slice(0, -1).some((word) => roleWords.has(word))
  );
}

/** Nothing but an organization's name stands so beside somebody's: no word of work, no place, nobody's name. */
function mayBeOrganization(name: string): boolean {
  if (isSurelyOrganization(name)) return true;
  const words = wordsIn(name);
  // Letters alone are departments as often as companies: UX, SRE, PMO.
  if (!isCapitalized(name) || words.length > 4 || /^\p{Lu}{1,4}$/u.test(name)) return false;
  if (wordKind(words.join(' ')) === 'place' || isGivenName(words[0] ?? '')) return false;
  if (words.some((word) => roleWords.has(word) || departments.has(word) || projectEndings.has(word)))
    return false;
  return words.some((word) => !isEveryday(word));
}

/** Each word but the binding ones. */
const isCapitalized = (name: string): boolean =>
  /^\p{Lu}[\p{L}\p{M}\p{N}.'’&-]*(?: (?:(?:of|and|the|for|&|de|du|der|von) )*\p{Lu}[\p{L}\p{M}\p{N}.'’&-]*)*$/u.test(
    name,
  );

const separators = /\s*[,;|]\s*|\s+[-–—]\s+/;
const employedAt = /^(.*?)\s*(?:\bat|@|\bfrom)\s+(?:the\s+)?(\p{Lu}.*)$/u;
const employedOf = /^(.*)\s+(?:of|for)\s+(?:the\s+)?(\p{Lu}.*)$/u;

/** `text`: without what separates it from the name. What is no organization's name is a role. */
export function readPosition(text: string): Position {
  const parts = text.split(separators).filter((part) => part !== '');
  // "Engineering Lead, Acme, Berlin": where somebody sits is neither.
  while (parts.length > 1 && wordKind(wordsIn(parts.at(-1) ?? '').join(' ')) === 'place') parts.pop();
  const [first = '', ...rest] = parts;
  const last = rest.at(-1);
  if (last === undefined) return readOne(first);
  if (mayBeOrganization(last) && isRole(first))
    return { role: parts.slice(0, -1).join(', '), organization: bare(last) };
  if (mayBeOrganization(first) && isRole(last)) return { role: rest.join(', '), organization: bare(first) };
  const at = readOne(last);
  if (at.organization !== undefined && at.role !== undefined)
    return { role: [...parts.slice(0, -1), at.role].join(', '), organization: at.organization };
  return { role: parts.join(', ') };
}

function readOne(text: string): Position {
  const [, worksAs = '', at = ''] = employedAt.exec(text) ?? [];
  const isPlace = wordKind(wordsIn(at).join(' ')) === 'place';
  if (at !== '' && isCapitalized(at) && !isPlace) return { ...roleOf(worksAs), organization: bare(at) };
  const [, before = '', of = ''] = employedOf.exec(text) ?? [];
  if (isRole(before) && mayBeOrganization(of)) return { role: before, organization: bare(of) };
  return mayBeOrganization(text) ? { organization: bare(text) } : roleOf(text);
}

const roleOf = (text: string): Position => (text === '' ? {} : { role: text });

const bare = (name: string): string => name.replace(/\.$/, '');

/** "(PM)", or ", our head of sales," and what may follow it. */
const behind =
  /^(?: \(([^()\n@]{2,80})\)|, (?:the |our )?([\p{L}\p{M} /&-]{2,60}?)(?=[,.;:\n)]| (?:and|for|who|said|will)\b)(?:, ([^,.;:()\n]{2,40})(?=[,.;:\n)]|$))?)/u;

/** "Ann Lee (PM, Acme)", "Ann Lee, our head of sales, …"; empty where nothing of the kind stands there. */
export function positionBehind(text: string, end: number): Position {
  const [, bracketed, apposed = '', next = ''] = behind.exec(text.slice(end, end + 120)) ?? [];
  if (bracketed !== undefined) {
    const position = readPosition(bracketed.trim());
    return position.role === undefined || isRole(position.role) ? position : {};
  }
  if (!isRole(apposed)) return {};
  const position = readPosition(apposed.trim());
  if (position.role === undefined || !isRole(position.role)) return {};
  return position.organization === undefined && isSurelyOrganization(next.trim())
    ? { ...position, organization: bare(next.trim()) }
    : position;
}
