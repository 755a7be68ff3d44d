// Loaded into every thread of a real process (NODE_OPTIONS=--import): a worker thread exits in the middle of the
// transaction that writes the item named in DIES_AT_ITEM, as often as the file DEATHS has bytes.
import { readFileSync, writeFileSync } from 'node:fs';
import { StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const item = process.env['DIES_AT_ITEM'];
const file = process.env['DEATHS'] ?? '';
// oxlint-disable-next-line typescript/unbound-method -- called with its statement below
const run = StatementSync.prototype.run;

if (!isMainThread && item !== undefined)
  StatementSync.prototype.run = function (this: StatementSync, ...values: unknown[]) {
    const changes = Reflect.apply(run, this, values) as ReturnType<typeof run>;
    const left = values.includes(item) ? readFileSync(file, 'utf8') : '';
    if (left !== '') {
      writeFileSync(file, left.slice(1));
      process.exit(7);
    }
    return changes;
  };
