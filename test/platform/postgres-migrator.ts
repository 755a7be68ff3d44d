// A process that migrates a schema and prints what it applied. Several of them start at once in a test.
import { once } from 'node:events';
import { systemClock } from '../../src/core/system.ts';
import { defineMigration, migrate } from '../../src/platform/postgres/index.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';

const [, , url = '', schema = ''] = process.argv;
const database = await openServerDatabase({ url, schema, clock: systemClock, poolSize: 1 });
const migrations = [1, 2, 3, 4, 5].map((number) =>
  defineMigration(
    `000${number}-step-${number}.sql`,
    // Slow and not repeatable: running two at once, or one twice, would fail.
    `select pg_sleep(0.02); create table step_${number} (id int); insert into step_${number} values (${number});`,
  ),
);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const applied = await migrate(database, migrations, { clock: systemClock });
await database.close();
process.stdout.write(`${JSON.stringify(applied.map(({ number }) => number))}\n`);
process.exit();
