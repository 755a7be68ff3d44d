// How messages name a request: without query, user and password, which may hold secrets.

export function requestLabel(method: string, url: URL): string {
  return `${method} ${url.origin}${url.pathname}`;
}
