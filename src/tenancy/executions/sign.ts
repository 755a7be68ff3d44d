// Signatures as Standard Webhooks has them (www.standardwebhooks.com): receivers check them with a ready library.
import { createHmac } from 'node:crypto';

export interface SignedMessage {
  /** The same for every try of one message. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly body: string;
}

const prefix = 'whsec_';

/** `secret` is `whsec_` and base64, as receivers are given it; any other text is taken as it is. */
export function webhookHeaders(
  secret: string,
  { id, timestamp, body }: SignedMessage,
): Readonly<Record<string, string>> {
  const key = secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : secret;
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
