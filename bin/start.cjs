// Starts the compiled program, or the sources of a checkout that has not been built. A file of its own: an old Node
// cannot read `import()`, and must not have to.
'use strict';
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { homedir } = require('node:os');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

// Compiled code is kept between runs: a command starts in half the time. In a folder of this user, not in the shared
// temporary folder, where another user could place code. NODE_COMPILE_CACHE names another; NODE_DISABLE_COMPILE_CACHE=1
// turns it off; if nothing can be written, Node runs without it.
if (!process.env.NODE_V8_COVERAGE)
  enableCompileCache(process.env.NODE_COMPILE_CACHE || join(cacheFolder(), 'headworks', 'compile-cache'));

const built = join(__dirname, '../dist/cli/main.js');
const program = existsSync(built) ? built : join(__dirname, '../src/cli/main.ts');
void import(pathToFileURL(program).href);

function cacheFolder() {
  if (process.platform === 'win32' && process.env.LOCALAPPDATA) return process.env.LOCALAPPDATA;
  return process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
}
