// Counts in sentences: one call, two calls.

/** `1 call`, `2 calls`; `many` for words that do not just take an s. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
