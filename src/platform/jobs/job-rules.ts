// What every store of jobs agrees on: limits, fixed reasons and the errors callers see.
import { CoreError } from '../../core/index.ts';

/** How long a handler may go on after its signal aborted before its slot is taken from it. */
export const defaultAbortGraceMs = 2_000;

export const defaultListLimit = 100;

/** Tries that a dead process may cost beyond the definition's retries. */
export const crashAllowance = 3;

export const cancelledReason = 'It was cancelled.';
export const lostReason = 'The process that ran it went away.';

export function undefinedKind(name: string): CoreError {
  return new CoreError('INTERNAL', `No job "${name}" was defined. Call define() with it before using it.`);
}

export function workedTwice(name: string): CoreError {
  return new CoreError('INTERNAL', `The job "${name}" has a handler in this process already.`);
}

export function duplicateKey(name: string, id: string): CoreError {
  return new CoreError(
    'CONFLICT',
    `The job ${id} cannot run again: another "${name}" job with its key is pending or running. Wait for that one.`,
    { details: { name, id } },
  );
}
