// Whose credentials a request has.
import { z } from 'zod';

export const callerAnswer = z
  .object({
    kind: z.enum(['admin', 'organization']),
    organization_id: z.string().nullable().describe('Of an organization’s key; null for the admin.'),
  })
  .meta({ id: 'Caller', description: 'Who these credentials belong to.' });
