// The failure that an error leaves on an execution: a message for operators, and one for the organization.
import { HeadworksError } from '../../core/index.ts';
import { DeploymentError } from '../errors.ts';
import type { Execution, ExecutionFailure } from './types.ts';

const maxMessageLength = 2_000;

/** A bug: its message is only logged. */
export const isUnexpected = (error: unknown): boolean =>
  !(error instanceof HeadworksError) || error.code === 'INTERNAL';

export const internalTenantMessage = 'Something went wrong on our side. Please try again later.';

export function toFailure(error: unknown, redact: (text: string) => string): ExecutionFailure {
  if (!(error instanceof HeadworksError) || isUnexpected(error))
    return {
      code: 'INTERNAL',
      message: 'Something went wrong on our side. See the log for details.',
      tenantMessage: internalTenantMessage,
    };
  const tenantMessage = tenantMessageOf(error);
  return {
    code: error.code,
    message: truncate(redact(error.message)),
    ...(tenantMessage === undefined ? {} : { tenantMessage: truncate(redact(tenantMessage)) }),
  };
}

/** Undefined where the message itself may be shown. Only errors of deployments may: others name models, keys and stores. */
function tenantMessageOf(error: HeadworksError): string | undefined {
  if (error instanceof DeploymentError) return error.tenantMessage;
  if (error.code === 'DEADLINE_EXCEEDED')
    return 'This took too long and was canceled. Please try again later, or send less at once.';
  if (error.code === 'GATEWAY_REQUEST_REJECTED')
    return 'The model rejected the request. Please change it: the same request would be rejected again.';
  if (!error.isRetryable)
    return 'This could not be completed, and trying again does not help. Please contact the provider of this API.';
  return `This could not be completed at the moment. Please try again ${retryHint(error.retryAfterMs)}.`;
}

function retryHint(retryAfterMs: number | undefined): string {
  if (retryAfterMs === undefined) return 'later';
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return `in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
}

const truncate = (text: string): string =>
  text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;

/** An execution as its organization sees it, in responses and webhooks: failures have their tenant messages. */
export function toTenantView(execution: Execution): Execution {
  const { failure, result } = execution;
  return {
    ...execution,
    failure: failure && tenantFailure(failure),
    result: Array.isArray(result) ? result.map(tenantEntry) : result,
  };
}

const tenantFailure = ({ code, message, tenantMessage }: ExecutionFailure): ExecutionFailure => ({
  code,
  message: tenantMessage ?? message,
});

/** A list has an entry per document, some of which may have failed. */
function tenantEntry(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null || !('error' in entry)) return entry;
  const { error } = entry;
  return isFailure(error) ? { ...entry, error: tenantFailure(error) } : entry;
}

const isFailure = (error: unknown): error is ExecutionFailure =>
  typeof error === 'object' && error !== null && 'code' in error && 'message' in error;
