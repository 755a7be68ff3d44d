// Logging in to the dashboard.
import { z } from 'zod';
import { instant } from './fields.ts';

export const loginBody = z
  .strictObject({
    token: z
      .string('must be a text')
      .min(1, 'must not be empty')
      .max(512, 'is longer than any token')
      .describe('Of a login link, or the admin token.'),
  })
  .meta({ id: 'LoginRequest' });

export const loginLinkAnswer = z
  .object({
    path: z.string().describe('Open it on the address by which your browser reaches this server.'),
    expires_at: instant,
  })
  .meta({ id: 'LoginLink', description: 'A link that logs one browser in, once.' });

export const sessionAnswer = z
  .object({ expires_at: instant.nullable().describe('When the session ends; null when there is none.') })
  .meta({ id: 'DashboardSession', description: 'The session of this browser.' });
