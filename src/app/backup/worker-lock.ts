// Workers show that they work with a database, so that nobody replaces its rows under them.
import { CoreError, systemClock } from '../../core/index.ts';
import type { Config } from '../../config/index.ts';

/** Not the lock of servers: a server without Redis has that one alone, also beside workers. */
export const workerLock = (schema: string): string => `headworks.worker.${schema}`;

/** Every worker shares it until `closing` is disposed. Fails with CONFLICT while a restore has it alone. */
export async function showWorker({ state }: Config, closing: AsyncDisposableStack): Promise<void> {
  if (state.databaseUrl === null) return;
  const { takeSessionLock } = await import('../../platform/postgres/server/index.ts');
  const lock = await takeSessionLock({
    url: state.databaseUrl,
    name: workerLock(state.schema),
    mode: 'shared',
    clock: systemClock,
  });
  if (!lock)
    throw new CoreError(
      'CONFLICT',
      'The rows of that database are being replaced (headworks restore or migrate-store). Start the worker when that is done.',
      { isRetryable: true },
    );
  closing.defer(() => lock.close());
}
