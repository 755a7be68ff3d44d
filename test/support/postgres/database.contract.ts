import { afterAll, beforeAll, describe } from 'vitest';
import { describeAborting } from './aborting.contract.ts';
import { describeClosing } from './closing.contract.ts';
import { describeInterleaving } from './interleaving.contract.ts';
import { describeNotifications } from './notifications.contract.ts';
import { describeStatements } from './statements.contract.ts';
import type { DatabaseUnderTest } from './subject.contract.ts';
import { describeTransactions } from './transactions.contract.ts';
import { describeValues } from './value-round-trips.contract.ts';

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
