// An execution as its organization sees it: the same, but errors in words that are meant for it.
import type { Execution, ExecutionFailure } from '../ports.ts';

/** For everything that leaves the house: answers of the door, and webhooks. The admin sees the execution itself. */
export function forTenant(execution: Execution): Execution {
  const { failure, result } = execution;
  return {
    ...execution,
    failure: failure && told(failure),
    result: Array.isArray(result) ? result.map(toldEntry) : result,
  };
}

const told = ({ code, message, tenantMessage }: ExecutionFailure): ExecutionFailure => ({
  code,
  message: tenantMessage ?? message,
});

/** A list has an entry per document, some of which may have failed. */
function toldEntry(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || !('error' in entry)) return entry;
  const { error } = entry;
  return isFailure(error) ? { ...entry, error: told(error) } : entry;
}

const isFailure = (error: unknown): error is ExecutionFailure =>
  typeof error === 'object' && error !== null && 'code' in error && 'message' in error;
