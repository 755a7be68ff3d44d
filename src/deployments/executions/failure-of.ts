// What an execution's owner hears of an error.
import { HeadworksError } from '../../core/index.ts';
import type { ExecutionFailure } from '../ports.ts';

const longestMessage = 2_000;

/** A bug of ours: its message stays inside. */
export const isUnforeseen = (error: unknown): boolean =>
  !(error instanceof HeadworksError) || error.code === 'INTERNAL';

export function failureOf(error: unknown, redact: (text: string) => string): ExecutionFailure {
  if (!(error instanceof HeadworksError) || isUnforeseen(error))
    return { code: 'INTERNAL', message: 'Something went wrong on our side. The log tells more.' };
  const message = redact(error.message);
  return {
    code: error.code,
    message: message.length > longestMessage ? `${message.slice(0, longestMessage - 1)}…` : message,
  };
}
