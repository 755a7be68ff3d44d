// Sizes for people.

const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/** `9.8 KB` */
export function sizeText(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
