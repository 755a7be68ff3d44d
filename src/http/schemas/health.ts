// Is it alive, is it ready, what is wrong with it.
import { z } from 'zod';
import { instant } from './fields.ts';

export const healthAnswer = z
  .object({
    status: z.literal('ok'),
    version: z.string().meta({ examples: ['0.2.0'] }),
    instance: z.string().describe('Changes with every start of the server.'),
  })
  .meta({ id: 'Health', description: 'The process is alive.' });

const dependency = z.object({
  name: z.string().meta({ examples: ['state'] }),
  state: z.enum(['up', 'down', 'not-configured']),
  required: z.boolean(),
  detail: z.string().nullable(),
  since: instant.nullable(),
  remedy: z.string().nullable().describe('What to do about it.'),
});

export const readinessAnswer = z
  .object({
    status: z.enum(['ready', 'degraded', 'unavailable']),
    draining: z.boolean().describe('The server is stopping and takes no new work.'),
    dependencies: z.array(dependency),
    capabilities: z.array(
      z.object({ name: z.string(), available: z.boolean(), detail: z.string().nullable() }),
    ),
  })
  .meta({ id: 'Readiness', description: 'What the server can do now, dependency by dependency.' });

export const doctorAnswer = z
  .object({
    status: z.enum(['ok', 'warning', 'problem']),
    checks: z.array(
      z.object({
        name: z.string(),
        state: z.enum(['ok', 'warning', 'problem', 'not-configured']),
        detail: z.string(),
        remedy: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'Doctor', description: 'Every check with its remedy; the status is that of the worst.' });

export const backupBody = z.strictObject({
  vaults: z.boolean().default(true).describe('Whether vaults of extractions come along.'),
});

export const backupAnswer = {
  description: 'Lines of JSON, compressed with gzip. The last one says whether the backup is whole.',
  content: { 'application/gzip': { schema: z.string() } },
} as const;

export const configAnswer = z
  .object({
    values: z.array(
      z.object({
        name: z.string().meta({ examples: ['server.port'] }),
        value: z.unknown().describe('Secrets show as "[secret]" when set and null when not.'),
        source: z.enum(['flag', 'env', 'file', 'default']),
        source_name: z
          .string()
          .nullable()
          .meta({ examples: ['HEADWORKS_PORT'] }),
        secret: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'Config', description: 'Every setting with where it came from.' });
