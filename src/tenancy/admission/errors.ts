// What can go wrong at the door, each with its consequence.
import { HeadworksError } from '../../core/index.ts';
import type { ErrorCodes, HeadworksErrorOptions } from '../../core/index.ts';
import type { Usage } from './ports.ts';

export const admissionErrorCodes = {
  ADMISSION_ORG_LIMIT: {
    category: 'limit_reached',
    consequence: 'The organization has as many requests under way as it may; nothing was accepted.',
  },
  ADMISSION_GLOBAL_LIMIT: {
    category: 'limit_reached',
    consequence:
      'All organizations together have as many requests under way as they may; nothing was accepted.',
  },
  ADMISSION_UNAVAILABLE: {
    category: 'unavailable',
    consequence:
      'Redis is away and the policy is to admit nobody without it (fail-closed); nothing was accepted.',
  },
  ADMISSION_NEEDS_REDIS: {
    category: 'misconfigured',
    consequence:
      'A server on the same database counts slots in its own memory, where nobody else may, or reaches; nothing was done.',
  },
} as const satisfies ErrorCodes;

export type AdmissionErrorCode = keyof typeof admissionErrorCodes;

export class AdmissionError extends HeadworksError<AdmissionErrorCode> {
  /** Of a refusal: what was counted. */
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
