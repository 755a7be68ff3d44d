// What registers a source, over HTTP and in the sources file alike: strict, so that no secret slips in under a new key.
import { z } from 'zod';
import type { SourceDraft } from './ports.ts';
import type { SourceOptions } from './source-options.ts';
import { snakeName } from './source-options.ts';

const variable = z
  .string('must be the name of an environment variable')
  .regex(/^[A-Za-z_]\w{0,127}$/, 'must be the name of an environment variable, like LOOKER_CLIENT_SECRET');

const lookerSettings = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/, error: 'must be a web address like https://acme.looker.com' })
    .max(2000)
    .refine((text) => !hasCredentials(text), 'must not hold a user or password'),
  client_id_env: variable
    .default('LOOKER_CLIENT_ID')
    .describe('The environment variable of the server that holds the client id.'),
  client_secret_env: variable
    .default('LOOKER_CLIENT_SECRET')
    .describe('The environment variable of the server that holds the client secret.'),
});

const restSettings = z.strictObject({
  definition: z
    .string('must be the text of a source file')
    .min(1)
    .max(500_000)
    .describe('The text of a source file (YAML). Secrets only as ${NAME}.'),
});

const whole = z.number('must be a whole number').int('must be a whole number');
const texts = z.array(z.string().min(1).max(200)).max(1000);

/** The ranges are those of the `extraction` settings, checked with them. */
const options = z.strictObject({
  types: texts.optional(),
  workers: whole.optional(),
  queue_size: whole.optional(),
  batch_size: whole.optional(),
  rate_limit_per_minute: whole.optional(),
  rate_limit_per_second: whole.optional(),
  adaptive: z.boolean().optional(),
  max_calls: whole.optional(),
  retries: whole.optional(),
  retry_delay_ms: whole.optional(),
  folders: texts.optional(),
  recursive: z.boolean().optional(),
  timeout_seconds: whole.optional(),
});

const schedule = z
  .string()
  .max(200)
  .nullable()
  .describe('Five cron fields in UTC; null runs only when asked to.')
  .meta({ examples: ['15 3 * * *'] });

const vault = z
  .string()
  .max(128)
  .regex(/^[\w][\w.-]*\.vault$/, 'must be a file name that ends in .vault, without folders')
  .describe("A file in the data folder's vaults; NAME.vault unless given.");

const common = {
  name: z
    .string('must be a name')
    .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'must be small letters, digits, "_", "." and "-", at most 63'),
  options: options.default({}),
  schedule: schedule.default(null),
  vault: vault.optional(),
  active: z.boolean().default(true).describe('Whether its schedule counts.'),
};

export const sourceInput = z
  .discriminatedUnion(
    'kind',
    [
      z.strictObject({ kind: z.literal('looker'), ...common, settings: lookerSettings }),
      z.strictObject({ kind: z.literal('rest'), ...common, settings: restSettings }),
    ],
    'kind must be looker or rest',
  )
  .meta({
    description: 'A source to register. Secrets stay in the environment of the server.',
    examples: [
      {
        name: 'acme',
        kind: 'looker',
        settings: {
          base_url: 'https://acme.looker.com',
          client_id_env: 'ACME_LOOKER_CLIENT_ID',
          client_secret_env: 'ACME_LOOKER_CLIENT_SECRET',
        },
        options: { types: ['dashboards', 'looks'] },
        schedule: '15 3 * * *',
      },
    ],
  });

/** Settings and options are replaced as a whole; name and kind stay. */
export const sourceChange = z
  .strictObject({
    settings: z.union([lookerSettings, restSettings]).optional(),
    options: options.optional(),
    schedule: schedule.optional(),
    vault: vault.optional(),
    active: z.boolean().optional(),
  })
  .refine((change) => Object.keys(change).length > 0, 'give at least one field to change')
  .meta({ description: 'What to change.', examples: [{ schedule: '0 */6 * * *' }, { active: false }] });

export type SourceInput = z.infer<typeof sourceInput>;
export type SourceChange = z.infer<typeof sourceChange>;

export function draftOf(input: SourceInput): SourceDraft {
  return {
    name: input.name,
    settings:
      input.kind === 'looker'
        ? {
            kind: 'looker',
            baseUrl: input.settings.base_url,
            clientIdVariable: input.settings.client_id_env,
            clientSecretVariable: input.settings.client_secret_env,
          }
        : { kind: 'rest', definition: input.settings.definition },
    options: optionsOf(input.options),
    schedule: input.schedule,
    vault: input.vault ?? `${input.name}.vault`,
    isActive: input.active,
  };
}

/** The draft as it would have been registered. */
export function inputOf({
  name,
  settings,
  options: own,
  schedule: cron,
  vault: file,
  isActive,
}: SourceDraft) {
  const rest = { name, options: snakeOptions(own), schedule: cron, vault: file, active: isActive };
  if (settings.kind === 'rest')
    return { kind: 'rest' as const, ...rest, settings: { definition: settings.definition } };
  return {
    kind: 'looker' as const,
    ...rest,
    settings: {
      base_url: settings.baseUrl,
      client_id_env: settings.clientIdVariable,
      client_secret_env: settings.clientSecretVariable,
    },
  };
}

const camel = (name: string): string =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const optionsOf = (given: z.infer<typeof options>): SourceOptions =>
  Object.fromEntries(Object.entries(given).map(([name, value]) => [camel(name), value]));
const snakeOptions = (own: SourceOptions): z.infer<typeof options> =>
  Object.fromEntries(Object.entries(own).map(([name, value]) => [snakeName(name), value]));

function hasCredentials(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}
