// The secret with which a deployment's webhooks are signed: derived, so that nobody has to keep it.
import { createHmac } from 'node:crypto';

/** As Standard Webhooks writes secrets: `whsec_` and 32 bytes in base64. Another deployment's tells nothing of it. */
export function signingSecretOf(masterSecret: string, deploymentId: string): string {
  const bytes = createHmac('sha256', masterSecret)
    .update(`headworks webhook ${deploymentId}`)
    .digest('base64');
  return `whsec_${bytes}`;
}
