// Keeps secrets out of everything that leaves the process or is stored: log lines, error answers, ledger, events.
import type { PlainValueRules } from './plain-value.ts';
import { plainValue } from './plain-value.ts';
import { secretPatterns } from './secret-pattern.ts';
import { isSecretName, mask, maskShapes } from './secret-shapes.ts';

/** Shorter values would redact half the alphabet; they are refused as secrets elsewhere. */
const shortestSecret = 4;

/** Cannot be a word of somebody's text; a password like "postgres" can. */
const unmistakable = /^(?=.*[^a-z]).{8,}$|^.{12,}$/isu;

export class Redactor {
  readonly #secrets = new Set<string>();
  #pattern: RegExp | undefined;
  #unmistakable: RegExp | undefined;

  /**
   * From now on this value never passes, also not percent-encoded, backslash-escaped or in base64. Redact before
   * cutting a text to length: half a secret is not recognised. Values under four characters are not secrets.
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

  /** Takes out known secrets and nothing else: for text whose structure must stay, like a line of JSON. */
  known(text: string): string {
    return this.#pattern ? text.replace(this.#pattern, mask) : text;
  }

  /**
   * For content that must arrive as it is: takes out nothing but known secrets that cannot be anything else. What merely looks like a secret stays.
   */
  content(text: string): string {
    return this.#unmistakable ? text.replace(this.#unmistakable, mask) : text;
  }

  /**
   * A plain copy of any value (see `plainValue`: errors become class, code and message) with every text in it, keys
   * included, made clean; what stands under a name like `password` is masked whatever it is.
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
