// Parses a limit strictly: "1.5" is not 15.

/** Maximum that the server accepts. */
export const highestLimit = 2_147_483_647;

/** Null unless it is a whole number from 1 to `highestLimit`. */
export function parseLimit(text: string): number | null {
  const typed = text.trim();
  const limit = /^\d+$/.test(typed) ? Number(typed) : 0;
  return limit >= 1 && limit <= highestLimit ? limit : null;
}
