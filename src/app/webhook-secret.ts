// The secret from which webhooks' signing secrets are derived: from the configuration, or kept in the data folder.
import type { IdSource } from '../core/index.ts';
import { webhookSecretPath } from '../platform/data-folder/files.ts';
import { ensureStoredSecret } from './secrets.ts';

export interface WebhookSecretSource {
  /** `deployments.webhookSecret`. */
  readonly configured: string | null;
  /** The data folder, which this process holds; null where there is none, as on a worker. */
  readonly folder: string | null;
  /** Can other machines use the same database? */
  readonly isShared: boolean;
}

/**
 * Null where none was configured and other machines may share the database: each would make its own, and receivers
 * would refuse what another one signed. Fails with DATA_FOLDER_UNUSABLE.
 */
export async function ensureWebhookSecret(
  { configured, folder, isShared }: WebhookSecretSource,
  ids: IdSource,
): Promise<string | null> {
  if (configured !== null) return configured;
  if (folder === null || isShared) return null;
  const kept = {
    path: webhookSecretPath(folder),
    what: 'secret for webhooks',
    variable: 'HEADWORKS_WEBHOOK_SECRET',
  };
  return (await ensureStoredSecret(kept, () => ids.token(32))).secret;
}
