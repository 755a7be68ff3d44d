// A worker thread that exits while it processes a page that demands it, and replies to every other.
import { parentPort } from 'node:worker_threads';
import type { WorkerReply, WorkerRequest } from '../../src/extraction/pipeline/worker-pool.ts';

const reply = (message: WorkerReply) => {
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
  reply({ kind: 'rejected', cause: 'malformed', message: text });
});
reply({ kind: 'ready' });
