// The schema of registered sources, for HTTP and the sources file: strict, so that no secret is stored under an unknown key.
import { z } from 'zod';
import type { OptionSpec, OptionValues } from '../../core/index.ts';
import { extractionOptions } from '../options.ts';

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
    .describe('Environment variable of the server with the client id.'),
  client_secret_env: variable
    .default('LOOKER_CLIENT_SECRET')
    .describe('Environment variable of the server with the client secret.'),
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
    .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'must be lower-case letters, digits, "_", "." and "-", at most 63'),
  options: options.default({}),
  schedule: schedule.default(null),
  vault: vault.optional(),
  active: z.boolean().default(true).describe('Whether its schedule is active.'),
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

/** Settings and options are replaced as a whole; name and kind cannot change. */
export const sourceChange = z
  .strictObject({
    settings: z.union([lookerSettings, restSettings]).optional(),
    options: options.optional(),
    schedule: schedule.optional(),
    vault: vault.optional(),
    active: z.boolean().optional(),
  })
  .refine((change) => Object.keys(change).length > 0, 'give at least one field to change')
  .meta({ description: 'The fields to update.', examples: [{ schedule: '0 */6 * * *' }, { active: false }] });

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

/** The input that a draft was made from. */
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

const { fields } = extractionOptions;

const own = {
  types: fields.types,
  workers: fields.workers,
  queueSize: fields.queueSize,
  batchSize: fields.batchSize,
  rateLimitPerMinute: fields.rateLimitPerMinute,
  rateLimitPerSecond: fields.rateLimitPerSecond,
  adaptive: fields.adaptive,
  maxCalls: fields.maxCalls,
  retries: fields.retries,
  retryDelayMs: fields.retryDelayMs,
  folders: fields.folders,
  recursive: fields.recursive,
  timeoutSeconds: fields.timeoutSeconds,
};

export type SourceOptions = Partial<OptionValues<typeof own>>;
type ExtractionValues = OptionValues<typeof fields>;

/** `options.workers: 99 must be a whole number from 1 to 50`; empty when valid. */
export function optionProblems(options: SourceOptions, server: ExtractionValues): readonly string[] {
  const ranges = Object.entries(options).flatMap(([field, value]) => {
    const spec: OptionSpec<unknown> = own[field as keyof typeof own];
    const parsed = value === null ? { value } : spec.parse(value);
    return 'problem' in parsed ? [line(field, value, parsed.problem)] : [];
  });
  if (ranges.length > 0) return ranges;
  const values = effectiveOptions(options, server);
  const given: Readonly<Record<string, unknown>> = values;
  const between = extractionOptions.check?.(values) ?? [];
  return between.map(({ field, problem }) => line(field, given[field], problem));
}

/** The server's settings overridden by the source's. What to extract is only ever the source's own. */
export function effectiveOptions(options: SourceOptions, server: ExtractionValues): ExtractionValues {
  return {
    ...server,
    types: [],
    folders: [],
    recursive: false,
    // Depends on the number of workers, which the source may change.
    queueSize: options.workers === undefined ? server.queueSize : null,
    ...options,
    dryRun: false,
    retryFailed: false,
  };
}

/** The name in JSON and YAML. */
export const snakeName = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);

function line(field: string, value: unknown, problem: string): string {
  return `options.${snakeName(field)}: ${JSON.stringify(value)} ${problem}`;
}

/** The address of a source and the environment variables of its secrets. Never a secret itself. */
export type SourceSettings =
  | {
      readonly kind: 'looker';
      readonly baseUrl: string;
      /** Names of environment variables of the server. */
      readonly clientIdVariable: string;
      readonly clientSecretVariable: string;
    }
  | {
      readonly kind: 'rest';
      /** The text of a source file: YAML, secrets only as `${NAME}`. */
      readonly definition: string;
    };

export interface SourceDraft {
  /** Unique, and valid in a file name. */
  readonly name: string;
  readonly settings: SourceSettings;
  /** Overrides of the server's `extraction` settings. */
  readonly options: SourceOptions;
  /** Five cron fields in UTC; null: only manual runs. */
  readonly schedule: string | null;
  /** A file in the data folder's `vaults`. */
  readonly vault: string;
  /** Its schedule is active. */
  readonly isActive: boolean;
}

export interface ExtractionSource extends SourceDraft {
  readonly id: string;
  /** Managed by the sources file; changed only there. */
  readonly isFromFile: boolean;
  readonly createdAt: Date;
  readonly modifiedAt: Date;
  /** Occurrences of the schedule up to here are handled. */
  readonly lastScheduledAt: Date;
}
