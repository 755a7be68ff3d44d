// What the headers of a page say about the list it belongs to.

/** A count, or null for anything that is none. */
export function countIn(header: string | undefined): number | null {
  if (header === undefined || !/^\d{1,15}$/.test(header.trim())) return null;
  return Number(header);
}

/** The address with `rel="next"` in a Link header (RFC 8288), absolute; null when there is none. */
export function nextLinkIn(header: string | undefined, base: URL): string | null {
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(/<([^>]*)>([^<]*)/g))
    if (relationsIn(parameters).includes('next') && URL.canParse(target, base.href))
      return new URL(target, base).href;
  return null;
}

/** Reads parameter by parameter: a quoted title may hold anything, also `rel=next`. */
function relationsIn(parameters: string): readonly string[] {
  for (const [, name = '', quoted, plain] of parameters.matchAll(
    /;\s*([^\s=;,"]+)\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/g,
  ))
    if (name.toLowerCase() === 'rel') return (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
  return [];
}
