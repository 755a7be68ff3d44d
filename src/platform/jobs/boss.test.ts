import { expect, it } from 'vitest';
import { CoreError } from '../../core/index.ts';
import { bossDatabase } from './boss.ts';

it('gives pg-boss a copy of an error, so that the text it appends does not reach other callers', async () => {
  const shared = new CoreError('STATE_UNAVAILABLE', 'away', { isRetryable: true, retryAfterMs: 100 });
  const away = () => Promise.reject(shared);
  const database = bossDatabase({ query: away, script: away });
  for (const text of ['select 1', 'begin; select 1']) {
    const error = await database.executeSql(text, []).catch((each: unknown) => each as CoreError);
    expect(error).toMatchObject({ code: 'STATE_UNAVAILABLE', isRetryable: true, retryAfterMs: 100 });
    (error as CoreError).message += ' (Queue: __pgboss__send-it)';
    expect(shared.message).toBe('away');
  }
});
