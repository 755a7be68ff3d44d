// Installs the compared libraries on first use, in a folder of their own: beside the benchmarks they would replace ours.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('./peers/', import.meta.url));

/** Installs them if one is missing. */
export async function installPeers(): Promise<void> {
  const { dependencies } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  if (Object.keys(dependencies).every((name) => existsSync(`${folder}node_modules/${name}`))) return;
  console.error('Installing what is measured against, into bench/peers/node_modules …');
  const npm = spawn('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(npm, 'exit')) as [number];
  if (code !== 0) throw new Error('The peers could not be installed: npm ci in bench/peers failed.');
}
