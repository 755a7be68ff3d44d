// The built dashboard: beside the compiled code in the package, in web/dist of a checkout.
import { glob, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DashboardAsset, DashboardFiles } from '../../http/index.ts';

const places = ['../../web/', '../../../web/dist/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** Null when it has not been built, as in a fresh checkout. */
export async function loadDashboard(): Promise<DashboardFiles | null> {
  for (const place of places) {
    const page = await readFile(`${place}index.html`, 'utf8').catch(() => null);
    if (page !== null) return { page, assets: await assetsIn(place) };
  }
  return null;
}

async function assetsIn(place: string): Promise<ReadonlyMap<string, DashboardAsset>> {
  const assets = new Map<string, DashboardAsset>();
  for await (const path of glob('assets/*.*', { cwd: place })) {
    const type = types[extname(path)] ?? 'application/octet-stream';
    assets.set(path.replaceAll('\\', '/'), { type, read: () => readFile(`${place}${path}`) });
  }
  return assets;
}
