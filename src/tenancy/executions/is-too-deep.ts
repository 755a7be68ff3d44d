// Whether a value is nested so deeply that those who walk it by recursion would fall over.

/** Deeper than any request that means something. */
export const deepestParameters = 100;

export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= deepestParameters; depth++) {
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? (Object.values(item) as unknown[]) : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}
