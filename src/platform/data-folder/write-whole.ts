// Writes a small file so that nobody, whenever they look or whatever dies, ever sees half of it.
import { rename, writeFile } from 'node:fs/promises';

/** Replaces what was there. Only one process at a time may write the same file. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  await writeFile(draft, text, { mode: 0o600, flush: true });
  await rename(draft, path);
}
