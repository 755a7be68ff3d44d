// A store may take a statement and never answer it: whoever waits for one hears within seconds that it did not.
import type { Clock } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';

/** Waits no longer than `ms`, then fails with what `late` gives. The work goes on, and may still be done. */
export async function inTime<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  late: (cause: CoreError) => Error,
): Promise<T> {
  const tooLate = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () =>
    tooLate.reject(late(new CoreError('DEADLINE_EXCEEDED', `The store did not answer within ${ms} ms.`))),
  );
  try {
    return await Promise.race([work, tooLate.promise]);
  } finally {
    cancel();
  }
}

/** How long a person is kept waiting for the store. */
const patienceMs = 3_000;

/** For what a person asked of the store. Fails with STATE_UNAVAILABLE when it does not answer. */
export function forPerson<T>(clock: Clock, work: Promise<T>): Promise<T> {
  return inTime(
    clock,
    patienceMs,
    work,
    (cause) =>
      new CoreError(
        'STATE_UNAVAILABLE',
        `The state store did not answer within ${patienceMs / 1_000} s. What was to be changed may or may not be ` +
          `when it is back: look before you repeat it. Requests to models go on meanwhile.`,
        { isRetryable: true, cause },
      ),
  );
}
