// What an error that ends an execution leaves behind: all of it for the house, and what its owner hears.
import { HeadworksError } from '../../core/index.ts';
import { DeploymentError } from '../errors.ts';
import type { ExecutionFailure } from '../ports.ts';

const longestMessage = 2_000;

/** A bug of ours: its message stays inside. */
export const isUnforeseen = (error: unknown): boolean =>
  !(error instanceof HeadworksError) || error.code === 'INTERNAL';

export const ourFault = 'Something went wrong on our side. Please try again later.';

export function failureOf(error: unknown, redact: (text: string) => string): ExecutionFailure {
  if (!(error instanceof HeadworksError) || isUnforeseen(error))
    return {
      code: 'INTERNAL',
      message: 'Something went wrong on our side. The log tells more.',
      tenantMessage: ourFault,
    };
  const told = tenantMessageOf(error);
  return {
    code: error.code,
    message: cut(redact(error.message)),
    ...(told === undefined ? {} : { tenantMessage: cut(redact(told)) }),
  };
}

/** Undefined: the message is for them as it is. Only our own errors can be; others speak of models, keys and stores. */
function tenantMessageOf(error: HeadworksError): string | undefined {
  if (error instanceof DeploymentError) return error.tenantMessage;
  if (error.code === 'DEADLINE_EXCEEDED')
    return 'This took longer than it may, and was given up. Please try again later, or send less at once.';
  if (error.code === 'GATEWAY_REQUEST_REJECTED')
    return 'What was sent was refused by the model. Please change it: the same would be refused again.';
  if (!error.isRetryable)
    return 'This could not be done, and trying again does not help. Please tell whoever gave you this API.';
  return `This could not be done at the moment. Please try again ${whenOf(error.retryAfterMs)}.`;
}

function whenOf(retryAfterMs: number | undefined): string {
  if (retryAfterMs === undefined) return 'later';
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return `in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
}

const cut = (text: string): string =>
  text.length > longestMessage ? `${text.slice(0, longestMessage - 1)}…` : text;
