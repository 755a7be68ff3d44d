// The browser for tests: Debian's own Chromium.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installPackages } from './debian-packages.ts';

/** The path of a Chromium; installs Debian's when there is none and we may. */
export async function chromiumPath(): Promise<string> {
  const found = findChromium();
  if (found) return found;
  await installPackages(['chromium'], 'Browser tests');
  const installed = findChromium();
  if (!installed) throw new Error('The package chromium is installed, but there is no program "chromium".');
  return installed;
}

function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const programs = ['chromium', 'chromium-browser', 'google-chrome'];
  return programs.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}
