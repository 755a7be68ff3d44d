// A worker thread that dies of a page that says so, and answers every other.
import { parentPort } from 'node:worker_threads';
import type { WorkerReply, WorkerRequest } from '../../src/extraction/pipeline/worker-pool.ts';

const answer = (message: WorkerReply) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
};

parentPort?.on('message', (message: WorkerRequest) => {
  if (message.kind === 'close') {
    parentPort?.close();
    return;
  }
  const text = Buffer.from(message.bytes).toString();
  if (text === 'die') throw new Error('It died of its page.');
  answer({ kind: 'rejected', cause: 'malformed', message: text });
});
answer({ kind: 'ready' });
