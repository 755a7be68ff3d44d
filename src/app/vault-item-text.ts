// The readable part of a vault item: its title first, then texts, names and numbers, without technical fields.

/** Last words of names of technical fields. */
const technicalNames =
  /(?:^|_)(?:ids?|uuid|guid|urls?|uris?|href|slug|hash|token|etag|at|crontab|timezone|locale|colou?r)$/i;
/** Fields about presentation and access. */
const technicalFields: ReadonlySet<string> = new Set(
  'can vis_config ui_config dynamic_fields layout dashboard_layouts section_order client_id links _links credentials credentials_email credentials_embed preferred_viewer load_configuration query_timezone avatar_url'.split(
    ' ',
  ),
);
const technicalValue =
  /^(?:\w+:\/\/\S*|\/\S*|\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{16,}|#[0-9a-f]{3,8})$/i;
/** Title and description come first. */
const firstFields = ['title', 'name', 'display_name', 'label', 'subject', 'description', 'summary'];
/** Depth of tiles, their queries and the queries' fields. */
const deepest = 12;

/** The same structure without ids, addresses, timestamps and flags; null when nothing is left. */
export function readableItem(value: unknown, depth = 0): unknown {
  if (typeof value === 'string')
    return value.trim() === '' || technicalValue.test(value.trim()) ? null : value;
  if (typeof value === 'number') return value;
  if (typeof value !== 'object' || value === null || depth > deepest) return null;
  if (Array.isArray(value)) {
    const kept = value.map((each) => readableItem(each, depth + 1)).filter((each) => each !== null);
    return kept.length === 0 ? null : kept;
  }
  const entries = Object.entries(value)
    .filter(([name]) => !technicalNames.test(name) && !technicalFields.has(name))
    .map(([name, each]) => [name, readableItem(each, depth + 1)] as const)
    .filter(([, each]) => each !== null)
    .toSorted(([a], [b]) => placeOf(a) - placeOf(b));
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

function placeOf(name: string): number {
  const place = firstFields.indexOf(name);
  return place < 0 ? firstFields.length : place;
}
