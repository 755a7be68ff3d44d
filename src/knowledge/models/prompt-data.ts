// Text of documents as data of a prompt.

/** Data cannot end the data: the signs that would are written otherwise, as JSON allows. */
export const asData = (value: unknown): string =>
  JSON.stringify(value)
    .replaceAll('<', String.raw`\u003c`)
    .replaceAll('>', String.raw`\u003e`);
