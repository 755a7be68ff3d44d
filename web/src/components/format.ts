// Formats of numbers and durations. Sizes are formatted by `formatBytes` of the core. Times are in time.tsx.

/** `1,234`. */
export const numberText = (value: number): string => value.toLocaleString('en');

export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);

/** `3 mentions`, `1 mention`. */
export const counted = (count: number, one: string, many?: string): string =>
  `${numberText(count)} ${plural(count, one, many)}`;

/** `62%`. */
export const percentText = (share: number): string => `${Math.round(share * 100)}%`;

/** `3.4 items/s`, `25 items/s`. */
export const rateText = (itemsPerSecond: number): string =>
  `${itemsPerSecond.toFixed(itemsPerSecond < 10 ? 1 : 0)} items/s`;

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** `70 ms`, `2.1 s`, `40 s`, `3 min`, `2 h 5 min`: the `max` largest units. */
export function durationText(ms: number, max = 2): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return wholeText(ms, max);
}

/** `0 s`, `40 s`, `2 h 5 min`: whole seconds, for a time that moves on. */
export function wholeText(ms: number, max = 2): string {
  let rest = Math.max(0, Math.round(ms / 1_000));
  const parts: string[] = [];
  for (const [unit, seconds] of units) {
    const count = Math.floor(rest / seconds);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * seconds;
    if (parts.length === max) break;
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}
