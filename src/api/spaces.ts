// Knowledge spaces and the folders that are read into them.
import { z } from 'zod';
import { count, deleted, instant, queryFlag, spaceFields } from './fields.ts';
import { operation } from './operation.ts';

export const Space = z
  .object({
    name: z.string(),
    organization_id: z.string().nullable().describe("Owner; null: the server's own space."),
    language: z.string().describe('Text search configuration: how search reduces words to stems.'),
    created_at: instant,
  })
  .meta({ id: 'Space', description: 'A collection of documents and what is known from them.' });
export type Space = z.infer<typeof Space>;

const ownerQuery = z.strictObject({ organization: spaceFields.organization });

export const spacesApi = {
  list: operation('GET /api/v1/knowledge/spaces', {
    id: 'spaces.list',
    summary: 'List the spaces of the organization; admins get those of all organizations, or of one',
    access: 'tenant',
    query: ownerQuery,
    output: z.object({ spaces: z.array(Space) }).meta({ id: 'Spaces' }),
  }),

  create: operation('POST /api/v1/knowledge/spaces', {
    id: 'spaces.create',
    summary: 'Create a space',
    access: 'tenant',
    query: ownerQuery,
    body: z.strictObject({
      name: z.string().min(1).max(100).describe('1 to 100 letters (a to z), digits, "-", "_" and ".".'),
      language: z
        .string()
        .min(1)
        .max(63)
        .optional()
        .describe('Text search configuration of Postgres: english (default), german, simple, …'),
      organization: spaceFields.organization,
    }),
    status: 201,
    output: Space,
  }),

  delete: operation('DELETE /api/v1/knowledge/spaces/:space', {
    id: 'spaces.delete',
    summary: 'Delete a space with everything in it',
    access: 'tenant',
    params: z.object({ space: z.string().min(1).max(100).describe('Name of the space.') }),
    query: ownerQuery,
    status: 204,
    output: deleted,
  }),
} as const;

export const FolderResult = z
  .object({
    added: count.describe('New documents.'),
    revised: count.describe('Documents with new content.'),
    unchanged: count.describe('Documents with the same content as before.'),
    failed: count.describe('Files and subfolders that could not be read.'),
    deleted: count.describe('Documents deleted because their files are gone.'),
    missing_count: count.describe('Documents kept although their files are gone.'),
    missing: z
      .array(z.object({ path: z.string(), artifact_id: z.string() }))
      .describe('The first hundred of these.'),
    problems: z.array(z.string()).describe('The first few failures; all are in the ledger.'),
  })
  .meta({ id: 'FolderResult', description: 'The result of a folder scan.' });
export type FolderResult = z.infer<typeof FolderResult>;

const Folder = z
  .object({
    id: z.string(),
    space: z.string().describe('Name of the space that it is read into.'),
    organization_id: z.string().nullable().describe("Owner of the space; null: the server's own."),
    path: z.string().describe("Path on the server's machine."),
    schedule: z.string().nullable().describe('Five cron fields in UTC; null: watched for changes.'),
    delete_missing: z.boolean().describe('Delete documents whose files are gone.'),
    created_at: instant,
    last_run_at: instant.nullable().describe('Last scan; null before the first.'),
    last_result: FolderResult.nullable().describe('Result of the last scan that found changes.'),
  })
  .meta({ id: 'Folder', description: "A folder on the server's machine that is read repeatedly." });

const CreatedFolder = Folder.extend({
  outcome: z
    .enum(['created', 'updated'])
    .describe('`updated`: the space already had this folder; its schedule was updated.'),
}).meta({ id: 'CreatedFolder' });

export const foldersApi = {
  list: operation('GET /api/v1/knowledge/folders', {
    id: 'folders.list',
    summary: 'List folders of a space, or of all spaces',
    query: z.strictObject({
      all: queryFlag(false).describe('List the folders of all spaces and organizations.'),
      ...spaceFields,
    }),
    output: z.object({ folders: z.array(Folder) }).meta({ id: 'Folders' }),
  }),

  create: operation('POST /api/v1/knowledge/folders', {
    id: 'folders.create',
    summary: 'Ingest a folder into a space repeatedly, on changes or on a schedule',
    description: 'If the space already has this folder, its schedule is updated.',
    body: z.strictObject({
      path: z.string().min(1).max(4_000).describe("A folder on the server's machine."),
      schedule: z
        .string()
        .max(100)
        .optional()
        .describe('Five cron fields in UTC; default: watch for changes.'),
      delete_missing: z
        .boolean()
        .optional()
        .describe(
          'Delete documents whose files no longer exist; not while the folder is empty, or when most files disappear at the same time.',
        ),
      ...spaceFields,
    }),
    status: 201,
    output: CreatedFolder,
    otherResponses: { 200: CreatedFolder },
  }),

  scan: operation('POST /api/v1/knowledge/folders/:id/scan', {
    id: 'folders.scan',
    summary: 'Scan a folder now, previously failed files included, and wait for the result',
    body: z.strictObject({
      delete_missing: z
        .boolean()
        .default(false)
        .describe('Delete documents whose files are gone, however many, unless the folder is empty.'),
    }),
    output: FolderResult,
  }),

  delete: operation('DELETE /api/v1/knowledge/folders/:id', {
    id: 'folders.delete',
    summary: 'Stop reading a folder; its documents are kept',
    status: 204,
    output: deleted,
  }),
} as const;

export type CreatedFolder = z.infer<typeof CreatedFolder>;
