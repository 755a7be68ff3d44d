// What every Database does. Run by each adapter: embedded in memory, embedded on files, and a real server.
import { afterAll, beforeAll, describe } from 'vitest';
import { describeAborting } from './contract/aborting.contract.ts';
import { describeClosing } from './contract/closing.contract.ts';
import { describeInterleaving } from './contract/interleaving.contract.ts';
import { describeNotifications } from './contract/notifications.contract.ts';
import { describeStatements } from './contract/statements.contract.ts';
import { describeTransactions } from './contract/transactions.contract.ts';
import { describeValues } from './contract/value-round-trips.contract.ts';
import type { DatabaseUnderTest } from './contract/subject.contract.ts';

/** Opening is slow (seconds, embedded), so one database serves the whole suite; tables are each test's own. */
export function describeDatabaseContract(name: string, open: () => Promise<DatabaseUnderTest>): void {
  describe(`Database: ${name}`, () => {
    let subject: DatabaseUnderTest | undefined;
    const current = (): DatabaseUnderTest => {
      if (!subject) throw new Error('The database did not open.');
      return subject;
    };

    beforeAll(async () => {
      subject = await open();
    });
    afterAll(async () => {
      await subject?.database.close();
      await subject?.cleanUp();
    });

    describeValues(current);
    describeStatements(current);
    describeTransactions(current);
    describeInterleaving(current);
    describeNotifications(current);
    describeAborting(current);
    // Last: it closes the database.
    describeClosing(current);
  });
}
