// A worker process for the job tests: runs jobs of one kind, and prints when each starts and ends.
// node jobs-worker.ts <database url> <schema> <milliseconds a job takes>
import { systemClock } from '../../src/core/index.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';
import { openJobQueue, sleepyJob } from './jobs-support.ts';

const [url = '', schema = '', takesMs = '0'] = process.argv.slice(2);
const print = (text: string) => process.stdout.write(`${text}\n`);

const database = await openServerDatabase({ url, schema, clock: systemClock, poolSize: 3 });
const { queue } = await openJobQueue(database);
await queue.define([sleepyJob]);
await queue.work(sleepyJob, async (_, { id, signal }) => {
  print(`start ${id}`);
  await systemClock.sleep(Number(takesMs), signal);
  print(`end ${id}`);
  return undefined;
});
print('ready');
