import { randomBytes } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { failure, type Subject } from './subject.contract.ts';
import type { Database } from '../../../src/platform/postgres/ports.ts';
import { sql } from '../../../src/platform/postgres/sql.ts';

const freshChannel = () => `Channel_${randomBytes(6).toString('hex')}`;

/** Notifications arrive in order: when the last one has arrived, all earlier ones have. */
async function receivedUpTo(database: Database, channel: string, received: readonly string[]): Promise<void> {
  await database.notify(channel, 'last');
  await vi.waitFor(() => expect(received).toContain('last'), { timeout: 5000 });
}

export function describeNotifications(subject: Subject): void {
  describe('notifications', () => {
    it('reach every listener of the channel and no other', async () => {
      const { database } = subject();
      const channel = freshChannel();
      const received: string[][] = [[], [], []];
      await database.listen(channel, (payload) => received[0]?.push(payload));
      await database.listen(channel, (payload) => received[1]?.push(payload));
      await database.listen(freshChannel(), (payload) => received[2]?.push(payload));
      await database.notify(channel, `it's "quoted" {}`);
      await database.query(sql`select pg_notify(${channel}, 'from SQL')`);
      await receivedUpTo(database, channel, received[1] ?? []);
      const all = [`it's "quoted" {}`, 'from SQL', 'last'];
      expect(received).toEqual([all, all, []]);
    });

    it('arrive when the transaction commits, and never otherwise', async () => {
      const { database } = subject();
      const channel = freshChannel();
      const received: string[] = [];
      await database.listen(channel, (payload) => received.push(payload));
      await failure(
        database.transaction(async (transaction) => {
          await transaction.notify(channel, 'rolled back');
          throw new Error('no');
        }),
      );
      await database.transaction(async (transaction) => {
        await transaction.notify(channel, 'committed');
        await transaction.query(sql`select 1`);
        expect(received).toEqual([]);
      });
      await receivedUpTo(database, channel, received);
      expect(received).toEqual(['committed', 'last']);
    });

    it('stop when the listener does, and start again with a new one', async () => {
      const { database } = subject();
      const channel = freshChannel();
      const early: string[] = [];
      const late: string[] = [];
      const stop = await database.listen(channel, (payload) => early.push(payload));
      await database.notify(channel, 'one');
      await expect.poll(() => early).toEqual(['one']);
      await stop();
      await stop();
      await database.notify(channel, 'unreceived');
      await database.listen(channel, (payload) => late.push(payload));
      await receivedUpTo(database, channel, late);
      expect([early, late]).toEqual([['one'], ['last']]);
    });

    it('reach the others when one listener throws', async () => {
      const { database } = subject();
      const channel = freshChannel();
      const received: string[] = [];
      await database.listen(channel, () => {
        throw new Error('a bad listener');
      });
      await database.listen(channel, (payload) => received.push(payload));
      await receivedUpTo(database, channel, received);
      expect(received).toEqual(['last']);
    });
  });
}
