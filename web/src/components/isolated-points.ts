// Isolated points of a line: without a dot they would be invisible.

/** Indexes in `values`. */
export const isolatedPoints = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : [],
  );
