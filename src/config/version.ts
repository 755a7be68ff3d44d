// The version of this package, read from its package.json (two folders up, in sources and in dist alike).
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

export const version = manifest.version;
