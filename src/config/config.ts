// The configuration: all option sections, the values with their origin, the secrets among them, and all of it as text.
import {
  clientOptions,
  dataOptions,
  jobsOptions,
  loggingOptions,
  redisOptions,
  retentionOptions,
  serverOptions,
  stateOptions,
} from '../app/options.ts';
import type { OptionSection, OptionSpec, OptionValues } from '../core/options.ts';
import { flagName } from '../core/options.ts';
import { decodeUri } from '../core/text.ts';
import { extractionOptions, lookerOptions } from '../extraction/options.ts';
import { gatewayOptions } from '../gateway/options.ts';
import { knowledgeOptions } from '../knowledge/options.ts';
import { ledgerOptions } from '../ledger/options.ts';
import { tracingOptions } from '../platform/telemetry/options.ts';
import { admissionOptions, deploymentOptions } from '../tenancy/options.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- sections of any fields; each is typed where it is used
export type OptionSections = Readonly<Record<string, OptionSection<any>>>;

export type SectionValues<Sections extends OptionSections> = {
  readonly [Name in keyof Sections]: OptionValues<Sections[Name]['fields']>;
};

/** Where a value came from; `command`: set by the command itself (the demo uses its own stores). */
export type OptionOrigin =
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'flag'; readonly flag: string }
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly file: string; readonly line: number }
  | { readonly kind: 'default' };

/** Everything but the values. */
export interface Resolution {
  /** The file that was read, absolute; `null` when there is none. */
  readonly file: string | null;
  /** By option path, `server.port`. */
  readonly origins: Readonly<Record<string, OptionOrigin>>;
  /** Sentences about what looks wrong but is not an error. */
  readonly warnings: readonly string[];
}

/** Values by section (`config.server.port`), deeply frozen. */
export type ConfigOf<Sections extends OptionSections> = SectionValues<Sections> & {
  readonly resolution: Resolution;
};

export type Config = ConfigOf<typeof optionSections>;

export interface NamedOption {
  readonly section: string;
  readonly field: string;
  /** `server.port` */
  readonly path: string;
  readonly spec: OptionSpec<unknown>;
}

/** Every option of these sections, in order. */
export function listOptions(sections: OptionSections): readonly NamedOption[] {
  return Object.entries(sections).flatMap(([section, { fields }]) =>
    Object.entries(fields as Readonly<Record<string, OptionSpec<unknown>>>).map(([field, spec]) => ({
      section,
      field,
      path: `${section}.${field}`,
      spec,
    })),
  );
}

/** The value of an option. */
function valueOf(config: Config, { section, field }: NamedOption): unknown {
  const { [section as keyof typeof optionSections]: values } = config;
  return (values as Readonly<Record<string, unknown>>)[field];
}

/** `flag --port`, `env HEADWORKS_PORT`, `headworks.yaml line 3`. */
function originName(origin: OptionOrigin): string | null {
  switch (origin.kind) {
    case 'command':
      return `headworks ${origin.command}`;
    case 'flag':
      return `--${origin.flag}`;
    case 'env':
      return origin.name;
    case 'file':
      return `${origin.file} line ${origin.line}`;
    case 'default':
  }
  return null;
}

/** `flag --port`, `env HEADWORKS_PORT`, `headworks.yaml line 3`, `default`. */
export function describeOrigin(origin: OptionOrigin): string {
  const name = originName(origin) ?? origin.kind;
  return origin.kind === 'flag' || origin.kind === 'env' ? `${origin.kind} ${name}` : name;
}

/** Keyed by section name, in the order of help and docs. */
export const optionSections = {
  server: serverOptions,
  client: clientOptions,
  data: dataOptions,
  state: stateOptions,
  redis: redisOptions,
  jobs: jobsOptions,
  ledger: ledgerOptions,
  extraction: extractionOptions,
  looker: lookerOptions,
  gateway: gatewayOptions,
  admission: admissionOptions,
  deployments: deploymentOptions,
  knowledge: knowledgeOptions,
  retention: retentionOptions,
  logging: loggingOptions,
  tracing: tracingOptions,
} as const;

/** Names the configuration file. */
export const configFileVariable = 'HEADWORKS_CONFIG';

const mask = '[hidden]';

/** Every secret of this configuration, for the Redactor; passwords in URLs also on their own. */
export function secretsOf(config: Config): readonly string[] {
  const secrets = new Set<string>();
  for (const option of listOptions(optionSections)) {
    for (const text of [valueOf(config, option)].flat()) {
      if (typeof text !== 'string') continue;
      if (option.spec.secret) secrets.add(text);
      for (const password of passwordsIn(text)) secrets.add(password);
    }
  }
  return [...secrets];
}

/** Variables with secrets of the server itself, which no registered source may read; those of Looker are a source's. */
export function serverSecretVariables(): readonly string[] {
  return listOptions(optionSections)
    .filter(({ section, spec }) => spec.secret && section !== 'looker')
    .flatMap(({ spec }) => spec.env);
}

/** The password of a URL, as written and decoded. */
function passwordsIn(text: string): readonly string[] {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text) || !URL.canParse(text)) return [];
  const url = new URL(text);
  const written = [url.password, url.searchParams.get('password') ?? ''].filter(
    (password) => password !== '',
  );
  return written.flatMap((password) => [password, decodeUri(password)]);
}

/** A masked secret: a URL without its credentials, nothing of anything else. */
export function maskSecret(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string' || !URL.canParse(value)) return mask;
  const { protocol, host, pathname, username, password } = new URL(value);
  if (host === '') return mask;
  return `${protocol}//${username || password ? `${mask}@` : ''}${host}${pathname.includes('@') ? '' : pathname}`;
}

/** Masks a URL with a password; other values are returned unchanged. */
export function maskPassword(value: unknown): unknown {
  return typeof value === 'string' && passwordsIn(value).length > 0 ? maskSecret(value) : value;
}

/** What `headworks config --json` prints and `GET /api/v1/config` returns. */
interface ConfigDescription {
  /** The file that was read, absolute; `null` when there is none. */
  readonly file: string | null;
  readonly options: readonly ConfigOption[];
  readonly warnings: readonly string[];
}

interface ConfigOption {
  /** `server.port` */
  readonly name: string;
  /** Secrets masked; `null` when not set. */
  readonly value: unknown;
  readonly source: OptionOrigin['kind'];
  /** `--port`, `HEADWORKS_PORT`, `headworks.yaml line 3`; `null` for a default. */
  readonly sourceName: string | null;
  readonly env: readonly string[];
  /** `--port`, or `--no-adaptive` for an option that a flag disables. */
  readonly flag: string | null;
  readonly allowed: string;
  readonly default: string;
  readonly description: string;
  readonly isSecret: boolean;
}

/** Every option of the configuration, in order; safe to print and to send to an admin. */
export function describeConfig(config: Config): ConfigDescription {
  const { file, origins, warnings } = config.resolution;
  const options = listOptions(optionSections).map((option) => {
    const { path, spec } = option;
    const value = valueOf(config, option);
    const origin = origins[path] ?? { kind: 'default' };
    const flag = flagName(spec);
    return {
      name: path,
      value: (spec.secret ? maskSecret(value) : maskPassword(value)) ?? null,
      source: origin.kind,
      sourceName: originName(origin),
      env: spec.env,
      flag: flag === undefined ? null : `--${flag}`,
      allowed: spec.allowed,
      default: defaultText(spec),
      description: spec.describe,
      isSecret: spec.secret,
    };
  });
  return { file, options, warnings };
}

/** The default as text. */
function defaultText(spec: OptionSpec<unknown>): string {
  return spec.defaultText ?? valueText(spec.default);
}

/** Objects with a name are shown as that. */
function itemText(item: unknown): string {
  const name: unknown = typeof item === 'object' && item !== null && 'name' in item ? item.name : undefined;
  return typeof name === 'string' ? name : valueText(item);
}

/** A value in one line, as on a command line. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'not set';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(itemText).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const introduction = `# Configuration

<!-- Written by \`npm run docs\`; change the options.ts files, not this page. -->

Each option is taken from the first of these that names it:

1. a command-line flag;
2. an environment variable; an empty one counts as not set;
3. \`headworks.yaml\` in the working directory, or the file given with \`--config\` or \`${configFileVariable}\`;
4. its default.

\`headworks config\` shows every value and where it came from, secrets masked. All problems are reported together,
before anything is started; unknown sections and options in the file are errors. Keep secrets in the environment: in
the file they work, with a warning. A relative path starts at the working directory, or at the folder of the file if it
is set there.

\`\`\`yaml
# headworks.yaml
server:
  port: 8420
  allowedHosts: [headworks.example.com]
logging:
  level: info
\`\`\`
`;

/** The whole page, ending with a line break. */
export function optionReference(sections: OptionSections = optionSections): string {
  const parts = Object.entries(sections).map(([name, section]) => {
    const rows = listOptions({ [name]: section }).map(({ path, spec }) => [
      `\`${path}\``,
      [...spec.env, ...(flagName(spec) === undefined ? [] : [`--${flagName(spec)}`])]
        .map((text) => `\`${text}\``)
        .join(', '),
      escape(defaultText(spec)),
      escape(spec.allowed),
      escape(sentence(spec.describe) + (spec.secret ? ' Secret.' : '')),
    ]);
    return `## ${name}\n\n${escape(sentence(section.describe))}\n\n${table(['option', 'set with', 'default', 'allowed', 'what it does'], rows)}`;
  });
  return [introduction, ...parts].join('\n');
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

const escape = (text: string): string => text.replaceAll(/[|*_<>]/g, String.raw`\$&`);

/** A Markdown table with even columns, as the formatter would lay it out. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`;
  return line(header) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('');
}
