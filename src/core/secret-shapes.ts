// Shapes that are secret whoever's they are. A safety net for secrets nobody told us about: it may cover too much.
//
// Each pattern starts with something literal and repeats only classes that exclude what follows, so that the time
// grows with the length of the text and nothing else.

export const mask = '[redacted]';

const names = String.raw`(?:(?:api|private|secret|access|signing)[_-]?key|token|secret|password|passwd|pwd|passphrase)`;
const headers = String.raw`(?:authorization|cookie)`;
const secretName = new RegExp(`(?:${names}|${headers})$`, 'i');

/** Whether a field of this name holds a secret: `apiKey`, `admin_token`, `Proxy-Authorization`. */
export const isSecretName = (name: string): boolean => secretName.test(name);

/** After a name: the quote that ends it, if any, and what assigns. */
const assigns = String.raw`(?:\\{0,8}["'])?\s{0,20}[:=]\s{0,20}`;

const shapes: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // scheme://user:password@host, and scheme://long-token@host
  // up to the last @, because passwords hold what they should not; bounded, so that long words stay cheap
  [/(:\/\/[^\s/:@"']{0,256}):[^\s"']{1,512}@/g, `$1:${mask}@`],
  [/(:\/\/)[^\s/:@"']{20,}@/g, `$1${mask}@`],
  // Authorization: whatever, to the end of the line or the quoted text
  [new RegExp(`(${headers}${assigns}(?:\\\\{0,8}["'])?)[^\\s"'][^\\n"']*`, 'gi'), `$1${mask}`],
  [/\b(bearer)\s+[\w.~+/=-]{8,}/gi, `$1 ${mask}`],
  // "basic" and "token" are also words: what follows them must not look like one.
  [/\b([Bb]asic|[Tt]oken)\s+(?=\w[a-z.~-]*[A-Z0-9+/=_])[\w.~+/=-]{8,}/g, `$1 ${mask}`],
  // keys of well-known services, and JSON web tokens, wherever they stand
  [
    /\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[pousr]_\w{20,}|\bAIza[\w-]{30,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
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

/** One look decides for most texts that no shape can be in them. */
const hint =
  /:\/\/|sk[-_]|pk[-_]|rk[-_]|gh[pousr]_|AIza|eyJ|bearer|basic|token|secret|pass|pwd|key|authorization|cookie/i;

export function maskShapes(text: string): string {
  if (!hint.test(text)) return text;
  return shapes.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text);
}
