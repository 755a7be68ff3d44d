// Keeps secrets out of everything that leaves the process or is stored: log lines, error answers, ledger, events.

const mask = '[redacted]';

/** Shorter values would redact half the alphabet; they are refused as secrets elsewhere. */
const shortestSecret = 4;

/** Shapes that are secret whoever's they are: credentials in URLs, authorization headers, key-like fields. */
const shapes: readonly (readonly [RegExp, string])[] = [
  [/([a-z][a-z0-9+.-]*:\/\/[^\s/:@"']*):[^\s/@"']+@/gi, `$1:${mask}@`],
  [/\b(bearer|basic|token)\s+[a-z0-9._~+/=-]{8,}/gi, `$1 ${mask}`],
  [
    /((?:api[_-]?key|access[_-]?token|refresh[_-]?token|client[_-]?secret|password|passwd|secret|authorization)["']?\s*[:=]\s*["']?)(?!\[redacted\]|bearer|basic|token)[^\s"',;}&]{4,}/gi,
    `$1${mask}`,
  ],
];

export class Redactor {
  readonly #secrets = new Set<string>();
  #pattern: RegExp | undefined;

  /** From now on this value (also URL-encoded, JSON-escaped or in base64) never passes. */
  add(secret: string): void {
    if (secret.length < shortestSecret) return;
    for (const form of [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('base64url'),
    ])
      this.#secrets.add(form);
    const longestFirst = [...this.#secrets].sort((a, b) => b.length - a.length);
    this.#pattern = new RegExp(longestFirst.map((form) => RegExp.escape(form)).join('|'), 'g');
  }

  text(text: string): string {
    let clean = this.#pattern ? text.replace(this.#pattern, mask) : text;
    for (const [shape, replacement] of shapes) clean = clean.replace(shape, replacement);
    return clean;
  }

  /** A copy of any JSON-like value with every string in it, keys included, made clean. */
  value<T>(value: T): T {
    return this.#clean(value, 0) as T;
  }

  #clean(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    if (depth > 20) return '[too deep]';
    if (Array.isArray(value)) return value.map((item) => this.#clean(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [this.text(key), this.#clean(item, depth + 1)]),
    );
  }
}
