// Any value as plain JSON-like data, and without secrets: for everything that leaves the process or is stored (log lines,
// error responses, ledger, events).
import { kindOf } from './errors.ts';

export interface PlainValueRules {
  /** Applied to every string, keys included. */
  readonly text?: (text: string) => string;
  /** Replaces the value of a field; `undefined` keeps it. */
  readonly field?: (key: string, value: unknown) => unknown;
  /** Whether errors keep their stack. Default: no. */
  readonly stacks?: boolean;
}

const maxDepth = 50;

/**
 * A copy in which errors are objects of class, code, message and cause, dates ISO strings, bytes their length, maps
 * objects, and sets arrays. Circular references and levels below 50 become a note. Never throws, even if a getter or
 * `toJSON` does.
 */
export function plainValue(value: unknown, rules: PlainValueRules = {}): unknown {
  return copy(value, rules, []);
}

function copy(value: unknown, rules: PlainValueRules, path: readonly object[]): unknown {
  if (typeof value === 'string') return rules.text ? rules.text(value) : value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object') return undefined;
  if (path.includes(value)) return '[circular]';
  if (path.length >= maxDepth) return '[too deep]';
  try {
    return copyObject(value, rules, [...path, value]);
  } catch {
    return '[unreadable]';
  }
}

function copyObject(value: object, rules: PlainValueRules, path: readonly object[]): unknown {
  if (value instanceof Error) return copyError(value, rules, path);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => copy(item, rules, path) ?? null);
  if (value instanceof Set) return Array.from(value, (item) => copy(item, rules, path) ?? null);
  if (value instanceof Map)
    return copyFields(
      [...value].map(([key, item]) => [String(key), item]),
      rules,
      path,
    );
  const toJSON: unknown = (value as { toJSON?: unknown }).toJSON;
  if (typeof toJSON === 'function') return copy(toJSON.call(value), rules, path);
  return copyFields(Object.entries(value), rules, path);
}

function copyError(error: Error, rules: PlainValueRules, path: readonly object[]): unknown {
  const kind = kindOf(error);
  const several = error instanceof AggregateError ? error.errors : undefined;
  return copyFields(
    [
      ['class', error.name],
      ['code', kind === error.name ? undefined : kind],
      ['message', error.message],
      ['stack', rules.stacks ? error.stack : undefined],
      ['cause', error.cause],
      ['errors', several],
    ],
    rules,
    path,
  );
}

function copyFields(
  fields: readonly (readonly [string, unknown])[],
  rules: PlainValueRules,
  path: readonly object[],
): Record<string, unknown> {
  const kept: [string, unknown][] = [];
  for (const [key, item] of fields) {
    const decided = rules.field?.(key, item);
    const plain = decided === undefined ? copy(item, rules, path) : decided;
    if (plain !== undefined) kept.push([rules.text ? rules.text(key) : key, plain]);
  }
  return Object.fromEntries(kept);
}

/** Shorter values would match too much text; config rejects them as secrets. */
const shortestSecret = 4;

/** Cannot be an ordinary word, as a password like "postgres" can. */
const unmistakable = /^(?=.*[^a-z]).{8,}$|^.{12,}$/isu;

export class Redactor {
  readonly #secrets = new Set<string>();
  #pattern: RegExp | undefined;
  #unmistakable: RegExp | undefined;

  /**
   * Redacts this value from now on, also percent-encoded, backslash-escaped or in base64. Redact before truncating a
   * text: half a secret is not recognized. Values under four characters are ignored.
   */
  add(secret: string): void {
    if (secret.length < shortestSecret || mask.includes(secret) || this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    const longestFirst = [...this.#secrets].sort((a, b) => b.length - a.length);
    this.#pattern = anyOf(longestFirst);
    this.#unmistakable = anyOf(longestFirst.filter((known) => unmistakable.test(known)));
  }

  text(text: string): string {
    return maskShapes(this.known(text));
  }

  /** Removes known secrets only: for text whose structure must stay, like a line of JSON. */
  known(text: string): string {
    return this.#pattern ? text.replace(this.#pattern, mask) : text;
  }

  /**
   * For content that must stay unchanged: removes only known secrets that cannot be ordinary words. Text that only looks
   * like a secret stays.
   */
  content(text: string): string {
    return this.#unmistakable ? text.replace(this.#unmistakable, mask) : text;
  }

  /**
   * A plain copy of any value (see `plainValue`) with every string in it redacted, keys included. The value of a field
   * with a name like `password` is always masked.
   */
  value<T>(value: T, rules: Pick<PlainValueRules, 'stacks'> = {}): T {
    return plainValue(value, { ...rules, text: (text) => this.text(text), field: maskSecretField }) as T;
  }
}

function anyOf(secrets: readonly string[]): RegExp | undefined {
  if (secrets.length === 0) return undefined;
  return new RegExp([...new Set(secrets.flatMap(secretPatterns))].join('|'), 'g');
}

function maskSecretField(name: string, value: unknown): unknown {
  const canBeSecret = typeof value === 'string' || typeof value === 'number' || Array.isArray(value);
  return canBeSecret && isSecretName(name) ? mask : undefined;
}

/** Nested JSON doubles backslashes at each level; eight are three levels. */
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

/** Hexadecimal digits may be in upper or lower case. */
const anyCase = (hex: string): string =>
  hex.replace(/[a-f]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);

function percentPattern(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`).join(
    '',
  );
}

/** The escapes of JSON (`\u0022`) and of Node's inspect (`\x22`). */
function unicodePattern(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units
    .map((unit) => {
      const hex = anyCase(unit.toString(16).padStart(4, '0'));
      return String.raw`\\{1,8}(?:u${hex}${unit < 0x100 ? `|x${hex.slice(2)}` : ''})`;
    })
    .join('');
}

/** Shorter base64 would match ordinary text. */
const shortestCore = 6;

/**
 * Substrings of the base64 of any bytes that contain the secret: the characters that depend on the secret only, for
 * each of its three alignments in groups of three bytes.
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

export const mask = '[redacted]';

const names = String.raw`(?:(?:api|private|secret|access|signing)[_-]?key|token|secret|password|passwd|pwd|passphrase)`;
const headers = String.raw`(?:authorization|cookie)`;
const secretName = new RegExp(`(?:${names}|${headers})$`, 'i');

/** Whether a field of this name holds a secret: `apiKey`, `admin_token`, `Proxy-Authorization`. */
export const isSecretName = (name: string): boolean => secretName.test(name);

/** After a name: its closing quote, if any, and the assignment. */
const assigns = String.raw`(?:\\{0,8}["'])?\s{0,20}[:=]\s{0,20}`;

const shapes: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // scheme://user:password@host, and scheme://long-token@host
  // up to the last @, because passwords may have unencoded characters; bounded, so that long words stay cheap
  [/(:\/\/[^\s/:@"']{0,256}):[^\s"']{1,512}@/g, `$1:${mask}@`],
  [/(:\/\/)[^\s/:@"']{20,}@/g, `$1${mask}@`],
  // Authorization: to the end of the line or the quoted text
  [new RegExp(`(${headers}${assigns}(?:\\\\{0,8}["'])?)[^\\s"'][^\\n"']*`, 'gi'), `$1${mask}`],
  [/\b(bearer)\s+[\w.~+/=-]{8,}/gi, `$1 ${mask}`],
  // "basic" and "token" are also words: the next word must not look like an ordinary one.
  [/\b([Bb]asic|[Tt]oken)\s+(?=\w[a-z.~-]*[A-Z0-9+/=_])[\w.~+/=-]{8,}/g, `$1 ${mask}`],
  // keys of well-known services, and JSON web tokens
  [
    /\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[pousr]_\w{20,}|\bAIza[\w-]{30,}|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
    mask,
  ],
  // password="…", with the same quote at both ends
  [new RegExp(`(${names}${assigns})(\\\\{0,8}["'])[^\\n]{1,4096}?(?<!\\\\)\\2`, 'gi'), `$1$2${mask}$2`],
  // password=… without quotes
  [
    new RegExp(
      `(${names}${assigns})(?!\\[redacted\\]|(?:true|false|null|undefined)\\b)[^\\s"',;}&]{4,}`,
      'gi',
    ),
    `$1${mask}`,
  ],
];

/** Quickly rules out most texts. */
const hint =
  /:\/\/|sk[-_]|pk[-_]|rk[-_]|gh[pousr]_|AIza|eyJ|bearer|basic|token|secret|pass|pwd|key|authorization|cookie/i;

export function maskShapes(text: string): string {
  if (!hint.test(text)) return text;
  return shapes.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text);
}
