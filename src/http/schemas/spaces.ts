// Spaces and folders over HTTP.
import { z } from 'zod';
import type { KnowledgeFolder, Space } from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { id, instant, isoOrNull } from './fields.ts';

export const spaceView = z
  .object({
    name: z.string(),
    organization_id: z.string().nullable().describe('Null: the house’s own.'),
    language: z.string().describe('How words are reduced to their stems in search.'),
    created_at: instant,
  })
  .meta({ id: 'Space', description: 'What belongs together: documents, and what is known from them.' });

export const spacesAnswer = z
  .object({ spaces: z.array(spaceView) })
  .meta({ id: 'Spaces', description: 'Spaces that these credentials reach.' });

export const spacesQuery = z.strictObject({ organization: spaceFields.organization });

export const spaceBody = z.strictObject({
  name: z.string().min(1).max(100),
  language: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('A text search configuration of Postgres: english (default), german, simple, …'),
  organization: spaceFields.organization,
});

export const spaceParams = z.object({ space: z.string().min(1).max(100) });

export const folderView = z
  .object({
    id: z.string(),
    path: z.string(),
    cron: z.string().nullable().describe('When it is read (UTC); null: watched.'),
    created_at: instant,
    last_run_at: instant.nullable(),
    last_result: z
      .object({
        added: z.number(),
        revised: z.number(),
        unchanged: z.number(),
        failed: z.number(),
        problems: z.array(z.string()),
      })
      .nullable(),
  })
  .meta({ id: 'Folder', description: 'A folder of the server’s machine that is read again and again.' });

export const foldersAnswer = z
  .object({ folders: z.array(folderView) })
  .meta({ id: 'Folders', description: 'Folders of a space.' });

export const folderBody = z.strictObject({
  path: z.string().min(1).max(4_000).describe('A folder on the machine of the server.'),
  cron: z.string().max(100).optional().describe('Five fields, UTC; without one the folder is watched.'),
  ...spaceFields,
});

export const foldersQuery = z.strictObject(spaceFields);
export const folderParams = z.object({ id });

export const viewOfSpace = (space: Space): z.infer<typeof spaceView> => ({
  name: space.name,
  organization_id: space.organizationId,
  language: space.language,
  created_at: space.createdAt.toISOString(),
});

export const viewOfFolder = (folder: KnowledgeFolder): z.infer<typeof folderView> => ({
  id: folder.folderId,
  path: folder.path,
  cron: folder.cron,
  created_at: folder.createdAt.toISOString(),
  last_run_at: isoOrNull(folder.lastRunAt),
  last_result: folder.lastResult && { ...folder.lastResult, problems: [...folder.lastResult.problems] },
});
