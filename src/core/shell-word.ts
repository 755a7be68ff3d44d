// A path or name in a command that a person may paste.

/** As one word for a POSIX shell; quoted only where it must be. */
export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
