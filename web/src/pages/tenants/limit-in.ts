// What somebody typed as a limit. Nothing is guessed: "1.5" is not 15.

/** As many as the server takes. */
export const highestLimit = 2_147_483_647;

/** Null: not a whole number from 1 on that the server would take. */
export function limitIn(text: string): number | null {
  const typed = text.trim();
  const limit = /^\d+$/.test(typed) ? Number(typed) : 0;
  return limit >= 1 && limit <= highestLimit ? limit : null;
}
