// Error codes of admission and deployments, the messages of the founding document, and the failure that an
// error leaves on an execution.
import type { ErrorCodes, HeadworksErrorOptions } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { Rejection, Usage } from './admission/types.ts';
import type { Execution, ExecutionFailure } from './executions/types.ts';

export const admissionErrorCodes = {
  ADMISSION_ORG_LIMIT: {
    category: 'limit_reached',
    consequence: 'The organization is at its limit of concurrent requests; nothing was accepted.',
  },
  ADMISSION_GLOBAL_LIMIT: {
    category: 'limit_reached',
    consequence: 'All organizations together are at the global limit; nothing was accepted.',
  },
  ADMISSION_UNAVAILABLE: {
    category: 'unavailable',
    consequence:
      'Redis did not decide within a second, or is down and requests are rejected without it; nothing was accepted.',
  },
  ADMISSION_NEEDS_REDIS: {
    category: 'misconfigured',
    consequence:
      'A server on the same database counts slots in its own memory, so this process cannot; nothing was done.',
  },
} as const satisfies ErrorCodes;

export type AdmissionErrorCode = keyof typeof admissionErrorCodes;

export class AdmissionError extends HeadworksError<AdmissionErrorCode> {
  /** What was counted when a limit rejected the request. */
  readonly usage: Usage | undefined;

  constructor(
    code: AdmissionErrorCode,
    message: string,
    options: HeadworksErrorOptions & { readonly usage?: Usage } = {},
  ) {
    super(code, message, options);
    this.usage = options.usage;
  }
}

/** A 429 with the text of the founding document. */
export function rejectionError({ limitedBy, usage }: Rejection, retryAfterMs: number): AdmissionError {
  const options = { isRetryable: true, retryAfterMs, usage };
  if (limitedBy === 'global')
    return new AdmissionError(
      'ADMISSION_GLOBAL_LIMIT',
      'Our system is currently experiencing high load. Please try again in a few moments.',
      options,
    );
  const { organization, organizationLimit } = usage;
  return new AdmissionError(
    'ADMISSION_ORG_LIMIT',
    `Organization has reached the maximum concurrent API requests limit (${organization}/${organizationLimit}). ` +
      'Please try again later.',
    options,
  );
}

export const deploymentErrorCodes = {
  DEPLOYMENT_INACTIVE: {
    category: 'conflict',
    consequence: 'The deployment is disabled; nothing was accepted.',
  },
  DEPLOYMENT_INPUT_INVALID: {
    category: 'invalid_input',
    consequence:
      'The request does not match the workflow; the message lists every problem, nothing was accepted.',
  },
  DEPLOYMENT_UPLOAD_TOO_LARGE: {
    category: 'too_large',
    consequence: 'Too many or too large files; nothing was accepted.',
  },
  DEPLOYMENT_UPLOADS_FULL: {
    category: 'temporary',
    consequence: 'The memory for uploads is exhausted; the slot was released, nothing was accepted.',
  },
  DEPLOYMENT_UPLOAD_TOO_SLOW: {
    category: 'request_timeout',
    consequence: 'The body did not arrive in time; the slot was released.',
  },
  DEPLOYMENT_IDEMPOTENCY_CONFLICT: {
    category: 'conflict',
    consequence: 'The idempotency key was used for another request; nothing was accepted.',
  },
  DEPLOYMENT_DOCUMENT_UNREADABLE: {
    category: 'unprocessable',
    consequence: 'A document could not be read; its execution ended with an error.',
  },
  DEPLOYMENT_SCHEMA_TOO_SLOW: {
    category: 'unprocessable',
    consequence: 'Validation against the JSON schema took too long; the execution ended with an error.',
  },
  DEPLOYMENT_RESPONSE_INVALID: {
    category: 'upstream_failed',
    consequence:
      'The model returned no JSON that matches the schema, after one repair; the execution ended with an error.',
  },
} as const satisfies ErrorCodes;

export type DeploymentErrorCode = keyof typeof deploymentErrorCodes;

export class DeploymentError extends HeadworksError<DeploymentErrorCode> {
  /** Message for the organization; undefined where `message` may be shown to it. */
  readonly tenantMessage: string | undefined;

  constructor(
    code: DeploymentErrorCode,
    message: string,
    options: HeadworksErrorOptions & { readonly tenantMessage?: string } = {},
  ) {
    super(code, message, options);
    this.tenantMessage = options.tenantMessage;
  }
}

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
