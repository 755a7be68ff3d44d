#!/usr/bin/env node
// The installed command. Written so that even a very old Node can read it and say what is wrong in one line.
'use strict';
var needed = 24;
var found = process.versions.node;
if (parseInt(found, 10) < needed) {
  process.stderr.write(
    'headworks needs Node.js ' +
      needed +
      ' or newer, and this is ' +
      found +
      '. Get it at https://nodejs.org/en/download or with your version manager.\n',
  );
  process.exitCode = 1;
} else {
  require('./start.cjs');
}
