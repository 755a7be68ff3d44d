// Refusals, in exactly the founding document's words.
import { AdmissionError } from '../errors.ts';
import type { SlotLayer, Usage } from '../ports.ts';

/** Why one was turned away, and what was counted then. */
export interface Refusal {
  readonly layer: SlotLayer;
  readonly usage: Usage;
}

const globalText = 'Our system is currently experiencing high load. Please try again in a few moments.';

const organizationText = ({ organization, organizationLimit }: Usage): string =>
  `Organization has reached the maximum concurrent API requests limit (${organization}/${organizationLimit}). ` +
  'Please try again later.';

export function refusalError({ layer, usage }: Refusal, retryAfterMs: number): AdmissionError {
  const options = { isRetryable: true, retryAfterMs, usage };
  return layer === 'organization'
    ? new AdmissionError('ADMISSION_ORG_LIMIT', organizationText(usage), options)
    : new AdmissionError('ADMISSION_GLOBAL_LIMIT', globalText, options);
}
