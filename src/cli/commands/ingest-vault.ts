// Compares a vault with the space its items are ingested into: its name there, and the items that no longer exist at
// the source.
import type { ApiInput } from '../../api/client.ts';
import { callApi } from '../../api/client.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { kindOf } from '../../core/index.ts';
import type { CliSession } from '../session.ts';
import type { SpaceOptions } from './spaces.ts';
import { spaceFieldsOf } from './spaces.ts';
import type { VaultOptions } from './vault.ts';
import { choiceOf } from './vault.ts';

export interface IngestVaultOptions extends SpaceOptions, VaultOptions {
  readonly deleteMissing?: boolean;
}

export interface MissingItem {
  readonly source_id: string;
  readonly title: string;
  readonly id: string;
}

/** Documents whose items are gone at the source. */
export interface MissingItems {
  /** Documents that are still in the space. */
  readonly missing: readonly MissingItem[];
  readonly deleted: number;
  /** Why some were not deleted. */
  readonly problems: readonly string[];
}

/**
 * Name of the vault in the space: its file name, with its source if the space has another vault of the same file name.
 */
export async function systemOfVault(
  session: CliSession,
  client: HeadworksClient,
  options: IngestVaultOptions,
): Promise<string> {
  const { nameWithSource, vaultNameOf, withVault } = await import('../../extraction/vault/index.ts');
  const { name, source } = await withVault(choiceOf(session, options), (reader) => ({
    name: vaultNameOf(reader),
    source: reader.source(),
  }));
  if (source === null) return name;
  const whole = nameWithSource(name, source);
  const [own] = (await pageOf(client, options, { source_system: whole, limit: 1 })).artifacts;
  if (own) return whole;
  const [other] = (await pageOf(client, options, { source_system: name, limit: 1 })).artifacts;
  if (!other) return name;
  const { metadata } = await callApi(client, 'GET /api/v1/knowledge/artifacts/:id', {
    params: { id: other.id },
    query: spaceFieldsOf(options),
  });
  // Documents ingested before `vault_source` was stored count as documents of this vault.
  return (metadata['vault_source'] ?? source) === source ? name : whole;
}

/** Fails as the server and the vault do. */
export async function missingItems(
  session: CliSession,
  client: HeadworksClient,
  options: IngestVaultOptions,
  system: string,
): Promise<MissingItems> {
  const { goneItems, typeOfItem, withVault } = await import('../../extraction/vault/index.ts');
  const there = await allOf(client, options, system);
  const { gone, emptyTypes } = await withVault(choiceOf(session, options), (reader) =>
    goneItems(
      reader,
      there.map(({ source_id }) => source_id),
    ),
  );
  const items = there.filter(({ source_id }) => gone.has(source_id));
  if (options.deleteMissing !== true) return { missing: items, deleted: 0, problems: [] };
  const kept = items.filter(({ source_id }) => emptyTypes.includes(typeOfItem(source_id)));
  for (const item of items) if (!kept.includes(item)) await deleteIfPresent(client, options, item.id);
  const problems = emptyTypes.map(
    (type) =>
      `The source returned no items of type ${type}, possibly for lack of permission: no document of it was deleted.`,
  );
  return { missing: kept, deleted: items.length - kept.length, problems };
}

async function deleteIfPresent(
  client: HeadworksClient,
  options: IngestVaultOptions,
  id: string,
): Promise<void> {
  try {
    const query = spaceFieldsOf(options);
    await callApi(client, 'DELETE /api/v1/knowledge/artifacts/:id', { params: { id }, query });
  } catch (error) {
    if (kindOf(error) !== 'NOT_FOUND') throw error;
  }
}

async function allOf(
  client: HeadworksClient,
  options: IngestVaultOptions,
  system: string,
): Promise<readonly MissingItem[]> {
  const all: MissingItem[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await pageOf(client, options, {
      source_system: system,
      limit: 500,
      after,
    });
    for (const { source_id, title, id } of page.artifacts) all.push({ source_id, title, id });
    after = page.next;
  }
  return all;
}

const pageOf = (
  client: HeadworksClient,
  options: IngestVaultOptions,
  query: ApiInput<'GET /api/v1/knowledge/artifacts'>['query'],
) => callApi(client, 'GET /api/v1/knowledge/artifacts', { query: { ...query, ...spaceFieldsOf(options) } });
