// What a vault holds, over HTTP. Ids of items are texts of the source: they go into the query, not into the path.
import { z } from 'zod';
import type { DeadLetter, ItemRecord, TypeRecord, VersionRecord } from '../../extraction/index.ts';
import { instant, limitOf } from './fields.ts';

const count = z.number().int();
const type = z.string().min(1).max(200);
const itemId = z.string().min(1).max(2_000);

const deadLetter = z.object({
  session: count,
  type,
  page: z.string(),
  cause: z.string(),
  message: z.string(),
  at: instant,
});

export const vaultSummary = z
  .object({
    types: z.array(
      z.object({
        type,
        live: count,
        deleted: count,
        bytes: count,
        status: z.string().describe('As the newest session that asked for it left it.'),
        reason: z.string().nullable().describe('Why it is incomplete.'),
        expected_total: count
          .nullable()
          .describe('What the source says there is; null when it does not say.'),
      }),
    ),
    dead_letters: z
      .array(deadLetter)
      .describe('Pages that did not come, each once, newest first, at most 200.'),
  })
  .meta({ id: 'VaultSummary', description: 'The vault of a run, as it is now.' });

export const vaultItemsQuery = z.strictObject({
  type,
  after: z.string().max(2_000).default('').describe('Only items after this id: `next` of the page before.'),
  limit: limitOf(200, 50),
});

const itemFields = z.object({
  type,
  id: itemId,
  name: z.string().nullable(),
  owner: z.string().nullable(),
  folder: z.string().nullable(),
  updated_at: instant.nullable(),
  seen_at: instant,
  deleted_at: instant.nullable(),
  size: count,
  versions: count.describe('How many are kept; one that says that it was gone is among them.'),
});

export const vaultItems = z
  .object({
    items: z.array(itemFields),
    next: z.string().nullable().describe('Give it as `after` for the next page.'),
  })
  .meta({ id: 'VaultItems', description: 'Items of one type, by their ids.' });

export const vaultItemQuery = z.strictObject({ type, item: itemId });

export const vaultItem = z
  .object({
    item: itemFields,
    versions: z
      .array(
        z.object({
          number: count,
          session: count,
          first_seen_at: instant,
          is_gone: z.boolean().describe('The item was gone then.'),
        }),
      )
      .describe('Oldest first.'),
  })
  .meta({ id: 'VaultItem', description: 'An item and its versions.' });

export const vaultDataQuery = vaultItemQuery.extend({
  version: z.coerce.number().int().min(1).optional().describe('Default: the newest.'),
});

export const vaultData = z
  .object({ json: z.string().nullable().describe('Indented JSON; null: it was gone.') })
  .meta({ id: 'VaultData', description: 'An item as it was in one version.' });

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNothing = (ms: number | null): string | null => (ms === null ? null : iso(ms));

export const viewOfType = (record: TypeRecord): z.infer<typeof vaultSummary>['types'][number] => ({
  type: record.type,
  live: record.live,
  deleted: record.deleted,
  bytes: record.bytes,
  status: record.status,
  reason: record.reason,
  expected_total: record.expectedTotal,
});

export const viewOfDeadLetter = (letter: DeadLetter): z.infer<typeof deadLetter> => ({
  session: letter.session,
  type: letter.type,
  page: letter.pageKey,
  cause: letter.cause,
  message: letter.message,
  at: iso(letter.at),
});

export const viewOfItem = (item: ItemRecord): z.infer<typeof itemFields> => ({
  type: item.type,
  id: item.id,
  name: item.name,
  owner: item.owner,
  folder: item.folder,
  updated_at: isoOrNothing(item.updatedAt),
  seen_at: iso(item.syncedAt),
  deleted_at: isoOrNothing(item.deletedAt),
  size: item.size,
  versions: item.versions,
});

export const viewOfVersion = (version: VersionRecord): z.infer<typeof vaultItem>['versions'][number] => ({
  number: version.number,
  session: version.session,
  first_seen_at: iso(version.firstSeenAt),
  is_gone: version.hash === null,
});
