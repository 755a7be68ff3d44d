// Folders that are read again and again, over HTTP.
import { z } from 'zod';
import type { FolderResult, FolderRequest, KnowledgeFolder } from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { id, instant, isoOrNull } from './fields.ts';

export const folderResultView = z
  .object({
    added: z.number().int(),
    revised: z.number().int(),
    unchanged: z.number().int(),
    failed: z.number().int().describe('Files and folders below that could not be read, as of now.'),
    removed: z.number().int().describe('Documents that were removed because their files went.'),
    missing_count: z.number().int().describe('Documents that stay though their files went.'),
    missing: z
      .array(z.object({ path: z.string(), artifact_uid: z.string() }))
      .describe('The first hundred of these.'),
    problems: z.array(z.string()).describe('The first few, in sentences; all are in the ledger.'),
  })
  .meta({ id: 'FolderResult', description: 'What a walk through a folder came to.' });

const folderFields = {
  id: z.string(),
  space: z.string(),
  organization_id: z.string().nullable().describe('Whose space it is; null: the house’s own.'),
  path: z.string(),
  cron: z.string().nullable().describe('When it is read (UTC); null: watched.'),
  remove_missing: z.boolean().describe('Documents go when their files did.'),
  created_at: instant,
  last_run_at: instant.nullable(),
  last_result: folderResultView.nullable().describe('Of the last walk with anything new.'),
};

const folderView = z
  .object(folderFields)
  .meta({ id: 'Folder', description: 'A folder of the server’s machine that is read again and again.' });

export const addedFolderView = z
  .object({
    ...folderFields,
    outcome: z
      .enum(['added', 'changed'])
      .describe('`changed`: the space had it; it has the new schedule now.'),
  })
  .meta({ id: 'AddedFolder', description: 'A folder as it is read from now on.' });

export const foldersAnswer = z
  .object({ folders: z.array(folderView) })
  .meta({ id: 'Folders', description: 'Folders of a space, or of all.' });

export const folderBody = z.strictObject({
  path: z.string().min(1).max(4_000).describe('A folder on the machine of the server.'),
  cron: z.string().max(100).optional().describe('Five fields, UTC; without one the folder is watched.'),
  remove_missing: z
    .boolean()
    .optional()
    .describe(
      'Remove documents whose files went. Never while the folder is empty, or most of its files went at once.',
    ),
  ...spaceFields,
});

export const foldersQuery = z.strictObject({
  all: z.stringbool().default(false).describe('Of every space, of all organizations.'),
  ...spaceFields,
});
export const folderParams = z.object({ id });

export const scanBody = z.strictObject({
  remove_missing: z
    .boolean()
    .default(false)
    .describe('Remove documents whose files went, however many, as long as the folder is not empty.'),
});

export const wishOfFolder = (body: z.infer<typeof folderBody>): FolderRequest => ({
  path: body.path,
  cron: body.cron ?? null,
  ...(body.remove_missing === undefined ? {} : { removesMissing: body.remove_missing }),
});

export const viewOfResult = (result: FolderResult): z.infer<typeof folderResultView> => ({
  added: result.added,
  revised: result.revised,
  unchanged: result.unchanged,
  failed: result.failed,
  removed: result.removed,
  missing_count: result.missingCount,
  missing: result.missing.map(({ path, artifactUid }) => ({ path, artifact_uid: artifactUid })),
  problems: [...result.problems],
});

export const viewOfFolder = (folder: KnowledgeFolder): z.infer<typeof folderView> => ({
  id: folder.folderId,
  space: folder.spaceName,
  organization_id: folder.organizationId,
  path: folder.path,
  cron: folder.cron,
  remove_missing: folder.removesMissing,
  created_at: folder.createdAt.toISOString(),
  last_run_at: isoOrNull(folder.lastRunAt),
  last_result: folder.lastResult && viewOfResult(folder.lastResult),
});
