// Sizes for people, as settings are thought of: 10 MiB, not 10485760.

const units = ['bytes', 'KiB', 'MiB', 'GiB'] as const;

/** `10 MiB`, `1.5 KiB`; exact, so long as it can be said with one decimal. */
export function sizeText(bytes: number): string {
  const step = units.findLastIndex((_, power) => bytes >= 1_024 ** power);
  const size = bytes / 1_024 ** Math.max(step, 0);
  return Number.isInteger(size * 10) ? `${size} ${units[Math.max(step, 0)]}` : `${bytes} bytes`;
}
