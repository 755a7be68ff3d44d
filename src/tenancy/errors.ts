// What can go wrong with deployments, each with its consequence.
import type { ErrorCodes, HeadworksErrorOptions } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';

export const deploymentErrorCodes = {
  DEPLOYMENT_INACTIVE: {
    category: 'conflict',
    consequence: 'The deployment is switched off; nothing was accepted.',
  },
  DEPLOYMENT_WORKFLOW_UNAVAILABLE: {
    category: 'misconfigured',
    consequence: 'The workflow cannot be used in this house yet; nothing was accepted.',
  },
  DEPLOYMENT_INPUT_INVALID: {
    category: 'invalid_input',
    consequence: 'The request does not fit the workflow; every problem is named, nothing was accepted.',
  },
  DEPLOYMENT_UPLOAD_TOO_LARGE: {
    category: 'too_large',
    consequence: 'Too many or too large files; nothing was accepted.',
  },
  DEPLOYMENT_UPLOADS_FULL: {
    category: 'temporary',
    consequence:
      'All uploads together hold as much memory as they may; the slot was given back, nothing was accepted.',
  },
  DEPLOYMENT_UPLOAD_TOO_SLOW: {
    category: 'request_timeout',
    consequence: 'The body did not arrive in time; the slot was given back.',
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
    consequence: 'Checking against the JSON schema took too long; the execution ended with an error.',
  },
  DEPLOYMENT_ANSWER_INVALID: {
    category: 'upstream_failed',
    consequence:
      'The model gave no JSON that fits the schema, after one repair; the execution ended with an error.',
  },
  DEPLOYMENT_STOPPED: {
    category: 'conflict',
    consequence: 'The execution was stopped; it will not be tried again.',
  },
} as const satisfies ErrorCodes;

export type DeploymentErrorCode = keyof typeof deploymentErrorCodes;

export class DeploymentError extends HeadworksError<DeploymentErrorCode> {
  /** What the organization hears instead; undefined where the message is for it as well. */
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
