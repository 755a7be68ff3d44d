// How messages name a request: without query, user and password, which may hold secrets.

export function requestLabel(method: string, { origin, pathname }: Pick<URL, 'origin' | 'pathname'>): string {
  return `${method} ${origin}${pathname}`;
}
