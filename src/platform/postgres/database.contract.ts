// What every Database does. Run by each adapter: embedded in memory, embedded on files, and a real server.
import { afterAll, beforeAll, describe } from 'vitest';
import type { VirtualClock } from '../../core/virtual-clock.ts';
import { describeAborting } from './contract/aborting.ts';
import { describeClosing } from './contract/closing.ts';
import { describeInterleaving } from './contract/interleaving.ts';
import { describeNotifications } from './contract/notifications.ts';
import { describeStatements } from './contract/statements.ts';
import { describeTransactions } from './contract/transactions.ts';
import { describeValues } from './contract/value-round-trips.ts';
import type { Database } from './ports.ts';

/** A database in a fresh schema that exists, and what the suite needs to know of it. */
export interface DatabaseUnderTest {
  readonly database: Database;
  readonly clock: VirtualClock;
  /** How many units it runs at once. */
  readonly sessions: number;
  /** Removes what the suite left behind. The database is closed by then. */
  cleanUp(): Promise<void>;
}

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
