// The schema of registered sources, for HTTP and the sources file: strict, so that no secret is stored under an unknown key.
// Clients of the API load it without the rest of the domain.
import { z } from 'zod';
import type { OptionSpec, OptionValues } from '../core/index.ts';
import { camelCaseKeys, toCamelCase, toSnakeCase } from '../core/index.ts';
import { extractionOptions } from './options.ts';

const variable = z
  .string('must be the name of an environment variable')
  .regex(/^[A-Za-z_]\w{0,127}$/, 'must be the name of an environment variable, like LOOKER_CLIENT_SECRET');

const lookerSettings = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/, error: 'must be a web address like https://acme.looker.com' })
    .max(2000)
    .refine((text) => !hasCredentials(text), 'must not contain a user or password')
    .describe('URL of Looker, without credentials.'),
  client_id_env: variable
    .default('LOOKER_CLIENT_ID')
    .describe('Environment variable of the server with the client id.'),
  client_secret_env: variable
    .default('LOOKER_CLIENT_SECRET')
    .describe('Environment variable of the server with the client secret.'),
});

const restSettings = z.strictObject({
  definition: z
    .string('must be the text of a source file')
    .min(1)
    .max(100_000)
    .describe('The text of a source file (YAML). Secrets only as ${NAME}.'),
});

const whole = z.number('must be a whole number').int('must be a whole number');
const texts = z.array(z.string().min(1).max(200)).max(1000);

const described = <Schema extends z.ZodType>(schema: Schema, name: keyof typeof extractionOptions.fields) =>
  schema.optional().describe(extractionOptions.fields[name].describe);

/** The ranges are those of the `extraction` settings, checked with them. */
const options = z.strictObject({
  types: described(texts, 'types'),
  workers: described(whole, 'workers'),
  queue_size: described(whole, 'queueSize'),
  batch_size: described(whole, 'batchSize'),
  rate_limit_per_minute: described(whole, 'rateLimitPerMinute'),
  rate_limit_per_second: described(whole, 'rateLimitPerSecond'),
  adaptive: described(z.boolean(), 'adaptive'),
  max_calls: described(whole, 'maxCalls'),
  retries: described(whole, 'retries'),
  retry_delay_ms: described(whole, 'retryDelayMs'),
  folders: described(texts, 'folders'),
  recursive: described(z.boolean(), 'recursive'),
  timeout_seconds: described(whole, 'timeoutSeconds'),
});
const optionsText = 'Extraction options; those that are absent have the values of the server.';
const settingsText = 'Connection settings; they depend on the kind of source.';

const schedule = z
  .string()
  .max(200)
  .nullable()
  .describe('Five cron fields in UTC; null: only manual runs.')
  .meta({ examples: ['15 3 * * *'] });

const vault = z
  .string()
  .max(128)
  .regex(/^[\w][\w.-]*\.vault$/, 'must be a file name that ends in .vault, without folders')
  .describe("A file in the data folder's vaults; default NAME.vault.");

const common = {
  name: z
    .string('must be a name')
    .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'must be lower-case letters, digits, "_", "." and "-", at most 63')
    .describe('1 to 63 lower-case letters, digits, "_", "." and "-"; unique.'),
  options: options.default({}).describe(optionsText),
  schedule: schedule.default(null),
  vault: vault.optional(),
  is_active: z.boolean().default(true).describe('Whether its schedule is active.'),
};

export const sourceInput = z
  .discriminatedUnion(
    'kind',
    [
      z.strictObject({
        kind: z.literal('looker'),
        ...common,
        settings: lookerSettings.describe(settingsText),
      }),
      z.strictObject({ kind: z.literal('rest'), ...common, settings: restSettings.describe(settingsText) }),
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

/** Settings and options are replaced as a whole; name and kind cannot change. */
export const sourceChange = z
  .strictObject({
    settings: z.union([lookerSettings, restSettings]).optional().describe(settingsText),
    options: options.optional().describe(optionsText),
    schedule: schedule.optional(),
    vault: vault.optional(),
    is_active: z.boolean().optional().describe('Whether its schedule is active.'),
  })
  .refine((change) => Object.keys(change).length > 0, 'give at least one field to change')
  .meta({
    description: 'The fields to update.',
    examples: [{ schedule: '0 */6 * * *' }, { is_active: false }],
  });

export type SourceInput = z.infer<typeof sourceInput>;
export type SourceChange = z.infer<typeof sourceChange>;
export type SourceOptions = SourceInput['options'];

/** A source as it is registered, with its vault: a file in the data folder's `vaults`. */
export type SourceDraft = SourceInput & { readonly vault: string };

export type ExtractionSource = SourceDraft & {
  readonly id: string;
  /** Managed by the sources file; changed only there. */
  readonly isFromFile: boolean;
  readonly createdAt: Date;
  readonly modifiedAt: Date;
  /** Occurrences of the schedule up to here are handled. */
  readonly lastScheduledAt: Date;
};

export const draftOf = (input: SourceInput): SourceDraft => ({
  ...input,
  vault: input.vault ?? `${input.name}.vault`,
});

/** What a source was registered with. */
export function inputOf(source: ExtractionSource) {
  const { kind, name, settings, options: own, schedule: cron, vault: file, is_active } = source;
  return { kind, name, settings, options: own, schedule: cron, vault: file, is_active };
}

function hasCredentials(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

type ExtractionValues = OptionValues<typeof extractionOptions.fields>;

/** `options.workers: 99 must be a whole number from 1 to 50`; empty when valid. */
export function optionProblems(given: SourceOptions, server: ExtractionValues): readonly string[] {
  const specs: Readonly<Record<string, OptionSpec<unknown>>> = extractionOptions.fields;
  const line = (name: string, value: unknown, problem: string) =>
    `options.${name}: ${JSON.stringify(value)} ${problem}`;
  const ranges = Object.entries(given).flatMap(([name, value]) => {
    const parsed = specs[toCamelCase(name)]?.parse(value) ?? {};
    return 'problem' in parsed ? [line(name, value, String(parsed.problem))] : [];
  });
  if (ranges.length > 0) return ranges;
  const values = effectiveOptions(given, server);
  const between = extractionOptions.check?.(values) ?? [];
  return between.map(({ field, problem }) =>
    line(toSnakeCase(field), values[field as keyof ExtractionValues], problem),
  );
}

/** The server's settings overridden by the source's. What to extract is only ever the source's own. */
export function effectiveOptions(given: SourceOptions, server: ExtractionValues): ExtractionValues {
  return {
    ...server,
    types: [],
    folders: [],
    recursive: false,
    // Depends on the number of workers, which the source may change.
    queueSize: given.workers === undefined ? server.queueSize : null,
    ...(camelCaseKeys(given) as Partial<ExtractionValues>),
    dryRun: false,
    resetBackoff: false,
    retryFailed: false,
  };
}
