// Points of a line that no line leads to: without a dot they would not be seen.

/** Their places among `values`. */
export const standingAlone = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, at) =>
    value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : [],
  );
