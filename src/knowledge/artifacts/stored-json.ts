// Values as JSON that Postgres takes, whatever characters a document or a model brought.

/** Without NUL and halves of characters, which jsonb refuses. */
export const storedJson = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? each.toWellFormed().replaceAll('\0', '') : each,
  );
