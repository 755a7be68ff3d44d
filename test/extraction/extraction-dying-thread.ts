// The real worker thread, except that it exits during the page that a file names, if the file exists.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

const { marker } = workerData as { marker: string };

parentPort?.on('message', (message: { kind: string; request?: { key: string } }) => {
  if (!existsSync(marker) || message.request?.key !== readFileSync(marker, 'utf8')) return;
  rmSync(marker);
  process.exit(7);
});

await import('../../src/extraction/pipeline/worker.ts');
