// Acquires a lock, reports the result, and holds it until it is killed.
import { systemClock } from '../../src/core/index.ts';
import { acquireSessionLock } from '../../src/platform/postgres/server/session-lock.ts';

const [url = '', name = ''] = process.argv.slice(2);
const lock = await acquireSessionLock({ url, name, mode: 'exclusive', clock: systemClock });
process.stdout.write(lock ? 'held\n' : 'taken\n');
setInterval(() => undefined, 60_000);
