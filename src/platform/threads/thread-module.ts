// The module that a thread starts with: `.ts` when the sources run directly, `.js` in the built package.
import { extname } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/** The URL of the module `name` (without its ending, such as './pglite-worker') beside `importMetaUrl`. */
export function threadModule(name: string, importMetaUrl: string): URL {
  const ending = extname(new URL(importMetaUrl).pathname);
  if (ending === '.ts') keepWrappers();
  return new URL(name + ending, importMetaUrl);
}

/**
 * Every thread that reads TypeScript has WebAssembly of its own to do so. When V8 replaces such code's wrappers by
 * faster ones while another thread ends, it frees memory that it does not know ("Check failed: jit_page.has_value()",
 * a crash or a deadlock; nodejs/node#64500): once in some twenty runs of one test file here. So it does not replace them.
 */
function keepWrappers(): void {
  setFlagsFromString('--wasm-wrapper-tiering-budget=2147483647');
}
