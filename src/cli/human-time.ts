// Durations and moments as people say them.

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** `850 ms`, `12 s`, `3 min 5 s`, `2 d 4 h`: at most two units, rounded down. */
export function humanDuration(ms: number): string {
  const duration = Math.max(0, Math.floor(ms));
  if (duration < 1000) return `${duration} ms`;
  const first = units.findIndex(([, unitMs]) => duration >= unitMs);
  let left = duration;
  const parts: string[] = [];
  for (const [name, unitMs] of units.slice(first, first + 2)) {
    const count = Math.floor(left / unitMs);
    left -= count * unitMs;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(' ');
}

/** `3 min ago`, `in 2 h`, `now`; a dash for no moment at all. The larger unit only. */
export function humanMoment(iso: string | null | undefined, nowMs: number): string {
  const at = iso === null || iso === undefined ? Number.NaN : Date.parse(iso);
  if (Number.isNaN(at)) return '–';
  const distance = Math.abs(at - nowMs);
  const unit = units.find(([, unitMs]) => distance >= unitMs);
  if (!unit) return 'now';
  const text = `${Math.floor(distance / unit[1])} ${unit[0]}`;
  return at < nowMs ? `${text} ago` : `in ${text}`;
}
