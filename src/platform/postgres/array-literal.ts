// Postgres arrays as text, both ways: {1,NULL,"a \"quoted\" one"}.

const special = /["\\]/;

/** Writes nested lists; `write` gives each element's text, `null` stays NULL. */
export function writeArray(items: readonly unknown[], write: (item: unknown) => string | null): string {
  const parts = items.map((item) => {
    // Thousands of them come in one statement, and nothing in them needs quotes.
    if (typeof item === 'number' || typeof item === 'boolean') return String(item);
    if (Array.isArray(item)) return writeArray(item, write);
    const text = write(item);
    if (text === null) return 'NULL';
    return `"${special.test(text) ? text.replaceAll(/["\\]/g, String.raw`\$&`) : text}"`;
  });
  return `{${parts.join(',')}}`;
}

/** Reads an array's text; `read` gets each element that is not NULL. Bounds as in `[0:1]={…}` are dropped. */
export function readArray(text: string, read: (element: string) => unknown): unknown[] {
  let at = text.indexOf('{');

  function quoted(): string {
    let value = '';
    for (at++; at < text.length && text[at] !== '"'; at++) {
      if (text[at] === '\\') at++;
      value += text[at] ?? '';
    }
    at++;
    return value;
  }

  function plain(): string {
    const start = at;
    while (at < text.length && text[at] !== ',' && text[at] !== '}') at++;
    return text.slice(start, at);
  }

  function element(): unknown {
    if (text[at] === '{') return list();
    if (text[at] === '"') return read(quoted());
    const value = plain();
    return value === 'NULL' ? null : read(value);
  }

  function list(): unknown[] {
    const items: unknown[] = [];
    at++;
    while (at < text.length && text[at] !== '}') {
      items.push(element());
      if (text[at] === ',') at++;
    }
    at++;
    return items;
  }

  return list();
}
