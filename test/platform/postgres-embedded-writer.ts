// A process that writes to an embedded store until it is killed. Prints each number after its commit.
import { systemClock } from '../../src/core/system.ts';
import { openEmbeddedDatabase } from '../../src/platform/postgres/embedded/embedded-store.ts';
import { sql } from '../../src/platform/postgres/index.ts';

const folder = process.argv[2] ?? '';
const database = await openEmbeddedDatabase({ folder, schema: 'public', clock: systemClock });
await database.script('create table written (number int primary key, text text)');
for (let number = 1; ; number++) {
  await database.transaction(async (transaction) => {
    await transaction.query(sql`insert into written values (${number}, ${'x'.repeat(500)})`);
  });
  process.stdout.write(`${number}\n`);
}
