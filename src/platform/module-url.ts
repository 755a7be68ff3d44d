// Where a sibling module is: `.ts` when the sources run directly, `.js` in the built package.
import { extname } from 'node:path';

/** The URL of the module `name` (without its ending, such as './pglite-worker') beside `importMetaUrl`. */
export function siblingModule(name: string, importMetaUrl: string): URL {
  return new URL(name + extname(new URL(importMetaUrl).pathname), importMetaUrl);
}
