// A pattern that finds one known secret in whatever way it may have been written down.

/** Nested JSON doubles backslashes at each level; eight of them is three levels. */
const escapes = String.raw`\\{0,8}`;

const letterEscapes: Readonly<Record<string, string>> = {
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\f': 'f',
  '\r': 'r',
};

const htmlEntities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#0?39;',
};

/**
 * Regular expressions for the secret itself (its special characters raw, percent-encoded, backslash-escaped or as
 * HTML entities, in any mixture) and for its bytes in base64, on their own or inside something longer.
 */
export function secretPatterns(secret: string): readonly string[] {
  const characters = secret.match(/\\+|./gsu) ?? [];
  return [
    characters.map(characterPattern).join(''),
    ...base64Cores(secret).map((core) => RegExp.escape(core)),
  ];
}

function characterPattern(character: string): string {
  if (/^[A-Za-z0-9]$/.test(character)) return character;
  if (character.startsWith('\\')) return backslashesPattern(character.length);
  const ways = [
    escapes + RegExp.escape(character),
    percentPattern(character),
    unicodePattern(character),
    htmlEntities[character],
    character === ' ' ? String.raw`\+` : undefined,
    letterEscapes[character] === undefined ? undefined : String.raw`\\{1,8}${letterEscapes[character]}`,
  ];
  return `(?:${ways.filter((way) => way !== undefined).join('|')})`;
}

function backslashesPattern(count: number): string {
  return String.raw`(?:\\{${count},${count * 8}}|(?:%5[Cc]|\\{1,8}u005[Cc]){${count}})`;
}

/** Letters of hexadecimal digits are written large by some and small by others. */
const anyCase = (hex: string): string =>
  hex.replace(/[a-f]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);

function percentPattern(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`).join(
    '',
  );
}

/** As JSON writes what it must not write itself (`\u0022`), and as Node's inspect does (`\x22`). */
function unicodePattern(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units
    .map((unit) => {
      const hex = anyCase(unit.toString(16).padStart(4, '0'));
      return String.raw`\\{1,8}(?:u${hex}${unit < 0x100 ? `|x${hex.slice(2)}` : ''})`;
    })
    .join('');
}

/** Shorter pieces of base64 would be found in innocent text. */
const shortestCore = 6;

/**
 * What is sure to be in the base64 of any bytes that contain the secret: the characters that no neighbour shares,
 * for each of the three ways the secret can lie in groups of three bytes.
 */
function base64Cores(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const cores = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const isShared = (offset + bytes.length) % 3 !== 0;
    return text.slice([0, 2, 3][offset], isShared ? -1 : undefined);
  });
  const urlSafe = cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'));
  return [...new Set([...cores, ...urlSafe])].filter((core) => core.length >= shortestCore);
}
