// Keeps secrets out of the stored URLs of next pages: each is replaced by its name.
import { secretPatterns } from '../../core/redaction.ts';
import type { NamedSecret } from '../types.ts';

/** Shorter values are not masked: they would be found everywhere. */
const shortest = 4;

const placeholder = /\$\{(\w+)(:url)?\}/g;

/** `unmask(mask(url))` is the URL of the same page as `url`. */
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
      // A value that needs no encoding is masked below.
      for (const encoded of encodings(value)) masked = masked.replaceAll(encoded, () => `\${${name}:url}`);
      masked = masked
        .replaceAll(value, () => `\${${name}}`)
        .replaceAll(new RegExp(mixed, 'g'), () => `\${${name}:url}`);
    }
    return masked;
  }

  unmask(text: string): string {
    return text.replaceAll(placeholder, (written, name: string, isInUrl: string | undefined) => {
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
