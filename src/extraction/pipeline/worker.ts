// A worker thread: takes raw pages, slices, checks and hashes them, and commits each in one transaction.
//
// What it does not expect it does not catch: the thread then dies, the page goes to another one, and the death is seen.
import { parentPort, workerData } from 'node:worker_threads';
import { HeadworksError, systemClock } from '../../core/index.ts';
import { PageRejectedError, parsePage } from '../parsing/parse-page.ts';
import { SecretMasker } from '../sources/secrets.ts';
import { openPageWriter } from '../vault/index.ts';
import type { WorkerReply, PageWork, WorkerSettings, WorkerRequest } from './worker-pool.ts';

const { vaultPath, turn, formats, secrets = [] } = workerData as WorkerSettings;
const masker = new SecretMasker(secrets);
const writer = openPageWriter(vaultPath, { clock: systemClock, turn });

function handle({ sessionId, request, bytes, total, nextLink }: PageWork): WorkerReply {
  const reading = formats[request.type];
  if (!reading) throw new TypeError(`Nobody said how to read ${request.type}.`);
  try {
    const read = parsePage(request, bytes, reading);
    const page = { ...read, nextCursor: read.nextCursor && masker.mask(read.nextCursor) };
    return { kind: 'committed', outcome: writer.write(sessionId, page, { total, nextLink }) };
  } catch (error) {
    if (error instanceof PageRejectedError)
      return { kind: 'refused', cause: error.refusal, message: error.message };
    if (error instanceof HeadworksError)
      return { kind: 'unwritable', code: error.code, message: error.message };
    throw error;
  }
}

const answer = (message: WorkerReply) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
};

parentPort?.on('message', (message: WorkerRequest) => {
  if (message.kind === 'page') return answer(handle(message));
  writer.close();
  parentPort?.close();
});
answer({ kind: 'ready' });
