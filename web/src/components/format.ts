// Formats of numbers, durations and sizes, most of them shared with the commands. Times are in time.tsx.
export {
  counted,
  formatBytes,
  formatDuration,
  formatUsd,
  formatWholeSeconds,
  plural,
} from '../../../src/core/text.ts';

/** `1,234`. */
export const numberText = (value: number): string => value.toLocaleString('en');

/** `62%`. */
export const percentText = (share: number): string => `${Math.round(share * 100)}%`;

/** `3.4 items/s`, `25 items/s`. */
export const rateText = (itemsPerSecond: number): string =>
  `${itemsPerSecond.toFixed(itemsPerSecond < 10 ? 1 : 0)} items/s`;
