// A worker thread: parses, checks and hashes raw pages, and commits each in one transaction.
//
// Unexpected errors are not caught: the thread exits, the page goes to another one, and the main thread reports it.
import { parentPort, workerData } from 'node:worker_threads';
import { HeadworksError, systemClock } from '../../core/index.ts';
import { PageRejectedError, parsePage } from '../parsing/parse-page.ts';
import { SecretMasker } from '../sources/secrets.ts';
import type { ParsedPage } from '../types.ts';
import { PageWriter } from '../vault/page-writer.ts';
import type { WorkerReply, PageWork, WorkerSettings, WorkerRequest } from './worker-pool.ts';

const { vaultPath, writeLock, types, secrets = [] } = workerData as WorkerSettings;
const masker = new SecretMasker(secrets);
const writer = new PageWriter(vaultPath, { clock: systemClock, writeLock });

const noItems = { items: [], rejected: [], children: [], elements: [], nextCursor: null, total: null };

function handle({ sessionId, request, bytes, total, nextLink, isEmpty, isNotFound }: PageWork): WorkerReply {
  try {
    const parsed: ParsedPage = isEmpty
      ? { request, ...noItems, hasNoList: true }
      : parsePage(request, bytes, types);
    const page = { ...parsed, nextCursor: parsed.nextCursor && masker.mask(parsed.nextCursor) };
    return { kind: 'committed', page: writer.write(sessionId, page, { total, nextLink, isNotFound }) };
  } catch (error) {
    if (error instanceof PageRejectedError)
      return { kind: 'rejected', cause: error.rejection, message: error.message };
    if (error instanceof HeadworksError)
      return { kind: 'unwritable', code: error.code, message: error.message };
    throw error;
  }
}

const reply = (message: WorkerReply) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
};

parentPort?.on('message', (message: WorkerRequest) => {
  if (message.kind === 'page') return reply(handle(message));
  writer.close();
  parentPort?.close();
});
reply({ kind: 'ready' });
