// The browser for tests: Debian's own Chromium.
import { installPackages } from './debian-packages.ts';
import { findProgram } from './find-program.ts';

/** The path of a Chromium; installs Debian's if there is none and this user may install packages. */
export async function chromiumPath(): Promise<string> {
  const found = findChromium();
  if (found) return found;
  await installPackages(['chromium'], 'A browser test');
  const installed = findChromium();
  if (!installed) throw new Error('The package chromium is installed, but there is no program "chromium".');
  return installed;
}

const findChromium = (): string | undefined => findProgram('chromium', 'chromium-browser', 'google-chrome');
