// Spaces over HTTP.
import { z } from 'zod';
import type { Space } from '../../knowledge/index.ts';
import { spaceFields } from '../knowledge-space.ts';
import { instant } from './fields.ts';

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

export const viewOfSpace = (space: Space): z.infer<typeof spaceView> => ({
  name: space.name,
  organization_id: space.organizationId,
  language: space.language,
  created_at: space.createdAt.toISOString(),
});
