// Keeps secrets out of the addresses of next pages, which are stored: there they stand by their names.
import { secretPatterns } from '../../core/secret-pattern.ts';

export interface NamedSecret {
  /** Of the environment variable. */
  readonly name: string;
  readonly value: string;
}

/** Shorter ones are no secrets, and would be found everywhere. */
const shortest = 4;

const mark = /\$\{(\w+)(:url)?\}/g;

/** `unmask(mask(text))` asks for the same page as `text`. */
export class SecretMasker {
  readonly #values: ReadonlyMap<string, string>;

  constructor(secrets: readonly NamedSecret[]) {
    const longestFirst = secrets.toSorted((one, other) => other.value.length - one.value.length);
    this.#values = new Map(
      longestFirst.filter(({ value }) => value.length >= shortest).map(({ name, value }) => [name, value]),
    );
  }

  mask(text: string): string {
    let masked = text;
    for (const [name, value] of this.#values) {
      const [mixed = ''] = secretPatterns(value);
      // A value that is the same either way is left to `value`.
      for (const encoded of encodings(value)) masked = masked.replaceAll(encoded, () => `\${${name}:url}`);
      masked = masked
        .replaceAll(value, () => `\${${name}}`)
        .replaceAll(new RegExp(mixed, 'g'), () => `\${${name}:url}`);
    }
    return masked;
  }

  unmask(text: string): string {
    return text.replaceAll(mark, (written, name: string, isInUrl: string | undefined) => {
      const value = this.#values.get(name);
      if (value === undefined) return written;
      return isInUrl === undefined ? value : encodeURIComponent(value);
    });
  }
}

function encodings(value: string): readonly string[] {
  const inForm = new URLSearchParams([['', value]]).toString().slice(1);
  return [encodeURIComponent(value), inForm].filter((encoded) => encoded !== value);
}
