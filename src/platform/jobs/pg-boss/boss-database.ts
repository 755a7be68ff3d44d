// Lets pg-boss talk through our Database port, on the root or inside one of our transactions.
import type { Db } from 'pg-boss';
import { CoreError } from '../../../core/index.ts';
import type { Queryable } from '../../postgres/ports.ts';
import { rawSql } from '../../postgres/sql.ts';

/** pg-boss wraps what must be atomic in BEGIN … COMMIT, and never reads rows from such a script. */
const script = /^\s*begin;/i;

export function bossDatabase(queryable: Queryable): Db {
  return {
    async executeSql(text, values = []) {
      try {
        if (values.length === 0 && script.test(text)) {
          await queryable.script(text);
          return { rows: [] };
        }
        const { rows } = await queryable.query(rawSql(text, values));
        return { rows: [...rows] };
      } catch (error) {
        throw error instanceof CoreError ? copyOf(error) : error;
      }
    },
  };
}

/** pg-boss adds its queue and worker to the messages of errors that it meets, and this one may be shared by many. */
function copyOf(error: CoreError): CoreError {
  const { code, message, isRetryable, retryAfterMs, details } = error;
  return new CoreError(code, message, {
    isRetryable,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    details,
    cause: error,
  });
}
