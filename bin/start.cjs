// Starts the compiled program, or the sources of a checkout that has not been built. A file of its own: an old Node
// cannot read `import()`, and must not have to.
'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const built = join(__dirname, '../dist/cli/main.js');
const program = existsSync(built) ? built : join(__dirname, '../src/cli/main.ts');
void import(pathToFileURL(program).href);
