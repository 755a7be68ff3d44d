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
 * Every thread that loads TypeScript runs WebAssembly to strip types. When V8 replaces its wrappers by faster ones while
 * another thread ends, it may crash or deadlock ("Check failed: jit_page.has_value()", nodejs/node#64500): in one of
 * twenty runs of one test file here. So they are not replaced.
 */
function keepWrappers(): void {
  setFlagsFromString('--wasm-wrapper-tiering-budget=2147483647');
}
