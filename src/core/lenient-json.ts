// Finds the JSON in what a model said: thoughts before it, a fence or prose around it, commas too many in it.

/** A value, or undefined when there is none. */
export interface FoundJson {
  readonly value: unknown;
}

/** More than any model says; what a stranger's document makes it say is not searched for ever. */
const longestAnswer = 400_000;
/** Brackets in prose that lead nowhere. Each costs a walk through the rest. */
const mostStarts = 10;

/**
 * The whole text if it is JSON; else what is in the last code fence that holds some; else the longest object or list in
 * it. Names that Python has for null, true and false, and commas before a closing bracket are forgiven. Nothing is found in
 * what is longer than `longest` characters. Never throws.
 */
export function findJson(said: string, longest = longestAnswer): FoundJson | undefined {
  if (said.length > longest) return undefined;
  const text = afterThoughts(said.replace(/^\uFEFF/, ''));
  const fences = Array.from(text.matchAll(/```[^\n`]*\n([^]*?)```/g), ([, inside]) => inside ?? '');
  for (const candidate of [text, ...fences.toReversed()]) {
    const found = parsed(candidate);
    if (found) return found;
  }
  for (const candidate of bracketed(text)) {
    const found = parsed(candidate);
    if (found) return found;
  }
  return undefined;
}

/** Models that think aloud end that with a tag; one that only thought may have said it there. */
function afterThoughts(text: string): string {
  const ends = ['</think>', '</thinking>'].map((tag) => {
    const at = text.lastIndexOf(tag);
    return at < 0 ? 0 : at + tag.length;
  });
  const rest = text.slice(Math.max(...ends));
  return rest.trim() === '' ? text : rest;
}

function parsed(candidate: string): FoundJson | undefined {
  const text = candidate.trim();
  if (text === '') return undefined;
  return tryParse(text) ?? tryParse(tidied(text));
}

function tryParse(text: string): FoundJson | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

const slip = /,(?=\s*[}\]])|\b(?:None|True|False)\b/g;
const pythonNames: Readonly<Record<string, string>> = { None: 'null', True: 'true', False: 'false', ',': '' };

/** Strings stay as they are. */
function tidied(text: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) {
      pieces.push(withoutSlips(text.slice(at)));
      break;
    }
    const end = endOfString(text, quote);
    const next = end < 0 ? text.length : end + 1;
    pieces.push(withoutSlips(text.slice(at, quote)), text.slice(quote, next));
    at = next;
  }
  return pieces.join('');
}

function withoutSlips(text: string): string {
  return text.replaceAll(slip, (match) => pythonNames[match] ?? match);
}

/** Objects and lists that stand in prose, longest first. */
function bracketed(text: string): readonly string[] {
  const found: string[] = [];
  let starts = 0;
  for (let at = nextOpening(text, 0); at >= 0 && starts < mostStarts; starts++) {
    const end = closingOf(text, at);
    if (end > 0) found.push(text.slice(at, end));
    at = nextOpening(text, end > 0 ? end : at + 1);
  }
  return found.sort((one, other) => other.length - one.length);
}

function nextOpening(text: string, from: number): number {
  const at = text.slice(from).search(/[{[]/);
  return at < 0 ? -1 : from + at;
}

/** Where what opens at `start` has closed; -1 when it never does. */
function closingOf(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') {
      at = endOfString(text, at);
      if (at < 0) return -1;
    } else if (character === '{' || character === '[') depth += 1;
    else if ((character === '}' || character === ']') && --depth === 0) return at + 1;
  }
  return -1;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
  return -1;
}
