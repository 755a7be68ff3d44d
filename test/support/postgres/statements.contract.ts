import { describe, expect, it } from 'vitest';
import { countRows, failure, freshTable, type Subject } from './subject.contract.ts';
import { rawSql, sql, SqlError } from '../../../src/platform/postgres/sql.ts';

export function describeStatements(subject: Subject): void {
  describe('statements', () => {
    it('counts the rows that were changed, not those that were read', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int primary key`);
      const inserted = await database.query(sql`insert into ${table} values (1), (2), (3) returning id`);
      expect([inserted.affected, inserted.rows.length]).toEqual([3, 3]);
      expect((await database.query(sql`select * from ${table}`)).affected).toBe(0);
      expect((await database.query(sql`update ${table} set id = id + 10 where id < 3`)).affected).toBe(2);
      expect((await database.query(sql`delete from ${table} where id = 99`)).affected).toBe(0);
      expect((await database.query(sql`delete from ${table}`)).affected).toBe(3);
    });

    it('runs a script of several statements', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const name = table.compile().text;
      await database.script(
        `-- a comment; with a semicolon\ninsert into ${name} values (1);\ninsert into ${name} values (2);`,
      );
      expect(await countRows(database, table)).toBe(2);
    });

    it('does nothing for an empty script', async () => {
      await expect(subject().database.script('-- nothing here\n')).resolves.toBeUndefined();
    });

    it('runs raw SQL of several statements and returns the rows of all', async () => {
      const { database } = subject();
      const name = (await freshTable(database, sql`id int`)).compile().text;
      const { rows, affected } = await database.query(
        rawSql(
          `begin; insert into ${name} values (1), (2); select 7 as seven; delete from ${name} where id = 1; commit`,
        ),
      );
      expect({ rows, affected }).toEqual({ rows: [{ seven: 7 }], affected: 3 });
    });

    it('rejects several statements in one query', async () => {
      const error = await failure(subject().database.query(sql`select 1; select 2`));
      expect(error).toMatchObject({ name: 'SqlError', sqlState: '42601' });
    });

    it('runs a frequent statement again: after a failure, in a transaction, and when its table changed', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      await database.query(sql`insert into ${table} values (1), (2), (4)`);
      const halves = (by: number) => sql`select id / ${by}::int as half from ${table} order by id`;
      const frequent = { isFrequent: true };
      const read = async (queryable: Pick<typeof database, 'query'>, by: number) =>
        (await queryable.query<{ half: number }>(halves(by), frequent)).rows.map(({ half }) => half);
      for (let turn = 0; turn < 8; turn++) expect(await read(database, 1)).toEqual([1, 2, 4]);
      expect(await failure(read(database, 0))).toMatchObject({ sqlState: '22012' });
      expect(await read(database, 2)).toEqual([0, 1, 2]);
      expect(await database.transaction((transaction) => read(transaction, 4))).toEqual([0, 0, 1]);
      await Promise.all(Array.from({ length: 20 }, () => read(database, 2)));
      await database.query(sql`alter table ${table} add column name text`);
      expect(await read(database, 2)).toEqual([0, 1, 2]);
    });

    it('looks for names in its schema first, then in public', async () => {
      const { database } = subject();
      const { rows } = await database.query(sql`select current_schemas(false)::text[] as path`);
      expect(rows).toEqual([{ path: [database.schema, 'public'] }]);
    });

    it('reports an error with code and names, without the content of the row', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`email text constraint one_email_each unique`);
      const insert = sql`insert into ${table} values (${'secret@example.org'})`;
      await database.query(insert);
      const error = await failure(database.query(insert));
      expect(error).toBeInstanceOf(SqlError);
      expect(error).toMatchObject({ sqlState: '23505', code: '23505', constraint: 'one_email_each' });
      expect(JSON.stringify(Object.entries(error as object)) + String(error)).not.toContain('secret@');
    });

    it('continues after a statement that failed', async () => {
      const { database } = subject();
      expect(await failure(database.query(sql`select 1/0`))).toMatchObject({ sqlState: '22012' });
      expect((await database.query(sql`select 1 as one`)).rows).toEqual([{ one: 1 }]);
    });

    it('rolls back a script that fails inside its own BEGIN, before the next statement', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const name = table.compile().text;
      const script = `begin; insert into ${name} values (1); select 1/0; commit`;
      expect(await failure(database.script(script))).toMatchObject({ sqlState: '22012' });
      expect(await countRows(database, table)).toBe(0);
    });

    it('rolls back and reports a script that leaves a transaction open', async () => {
      const { database } = subject();
      const table = await freshTable(database, sql`id int`);
      const error = await failure(database.script(`begin; insert into ${table.compile().text} values (1)`));
      expect(error).toMatchObject({ code: 'INTERNAL' });
      expect(await countRows(database, table)).toBe(0);
    });

    it('responds to a ping, is up, and reports its capabilities', async () => {
      const { database } = subject();
      await database.ping();
      expect(database.state).toBe('up');
      expect(database.capabilities).toMatchObject({
        vector: { available: true },
        trigram: { available: true },
      });
      const { rows } = await database.query(sql`
        select '[1,0]'::vector <-> '[0,1]'::vector > 1 as far, similarity('water', 'waters') > 0.5 as alike`);
      expect(rows).toEqual([{ far: true, alike: true }]);
    });
  });
}
