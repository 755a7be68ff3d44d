// What makes two sightings the same row, and how they add up.
import type { SeenDegradation } from './ports.ts';

export const rowKey = (row: { readonly kind: string; readonly subject: string }): string =>
  `${row.kind}\0${row.subject}`;

/** Counts add up; the newest sighting says why. */
export function mergeSeen(earlier: SeenDegradation, later: SeenDegradation): SeenDegradation {
  const newest = later.lastSeenAt < earlier.lastSeenAt ? earlier : later;
  const firstSeenAt = later.firstSeenAt < earlier.firstSeenAt ? later.firstSeenAt : earlier.firstSeenAt;
  return { ...newest, firstSeenAt, count: earlier.count + later.count };
}

/** One sighting per row, in the order of their first appearance. */
export function mergeRows(seen: readonly SeenDegradation[]): readonly SeenDegradation[] {
  const rows = new Map<string, SeenDegradation>();
  for (const row of seen) {
    const earlier = rows.get(rowKey(row));
    rows.set(rowKey(row), earlier ? mergeSeen(earlier, row) : row);
  }
  return [...rows.values()];
}
