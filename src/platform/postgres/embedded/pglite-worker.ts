// The thread that PGlite lives in, so that a long statement never blocks the event loop of the server.
import { parentPort, workerData } from 'node:worker_threads';
import type { Extensions } from '@electric-sql/pglite';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { vector } from '@electric-sql/pglite-pgvector';
import { messageOf } from '../../../core/errors.ts';
import { identifier } from '../sql.ts';
import { runOnPglite } from './pglite-command.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './worker-protocol.ts';

const port = parentPort;
if (!port) throw new Error('pglite-worker.ts only runs as a worker thread.');
const settings = workerData as WorkerSettings;
const send = (message: FromWorker) => port.postMessage(message);

/** PGlite's default of 128 MB is allocated at start; with 16 MB an idle server takes 125 MB less. */
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

async function open(): Promise<PGlite> {
  const postgres = await PGlite.create({
    dataDir: settings.folder,
    startParams,
    extensions: { vector, pg_trgm, ...(await optionalExtensions()) },
  });
  postgres.onNotification((channel, payload) => send({ kind: 'notification', channel, payload }));
  await postgres.exec(sessionSetup());
  return postgres;
}

/** Not to be had: then the store opens without, and whoever wants it finds that it is not offered. */
async function optionalExtensions(): Promise<Extensions> {
  if (!settings.withAge) return {};
  try {
    const { age } = await import('@electric-sql/pglite-age');
    return { age };
  } catch {
    return {};
  }
}

function sessionSetup(): string {
  const listens = settings.channels.map((channel) => `listen ${identifier(channel).compile().text};`);
  const schema = identifier(settings.schema).compile().text;
  return `set search_path = ${schema}, public; set timezone = 'UTC'; set jit = off; ${listens.join(' ')}`;
}

async function handle(postgres: PGlite, message: ToWorker): Promise<void> {
  if (message.kind === 'run') {
    const outcome = await runOnPglite(postgres, message.command);
    send({ kind: 'outcome', id: message.id, ...outcome });
    return;
  }
  await postgres.close();
  port?.close();
}

try {
  const postgres = await open();
  // One after the other. What is thrown ends the thread, and the main thread starts another.
  let last: Promise<void> = Promise.resolve();
  port.on('message', (message: ToWorker) => {
    last = last.then(() => handle(postgres, message));
  });
  send({ kind: 'ready' });
} catch (error) {
  send({ kind: 'unusable', message: messageOf(error) });
}
