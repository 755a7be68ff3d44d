// Lets pg-boss talk through our Database port, on the root or inside one of our transactions.
import type { Db } from 'pg-boss';
import type { Queryable } from '../../postgres/ports.ts';
import { rawSql } from '../../postgres/sql.ts';

/** pg-boss wraps what must be atomic in BEGIN … COMMIT, and never reads rows from such a script. */
const script = /^\s*begin;/i;

export function bossDatabase(queryable: Queryable): Db {
  return {
    async executeSql(text, values = []) {
      if (values.length === 0 && script.test(text)) {
        await queryable.script(text);
        return { rows: [] };
      }
      const { rows } = await queryable.query(rawSql(text, values));
      return { rows: [...rows] };
    },
  };
}
