// The configuration: all option sections, and the values with their origin.
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
export function valueOf(config: Config, { section, field }: NamedOption): unknown {
  const { [section as keyof typeof optionSections]: values } = config;
  return (values as Readonly<Record<string, unknown>>)[field];
}

/** `flag --port`, `env HEADWORKS_PORT`, `headworks.yaml line 3`. */
export function describeOrigin(origin: OptionOrigin): string {
  switch (origin.kind) {
    case 'command':
      return `headworks ${origin.command}`;
    case 'flag':
      return `flag --${origin.flag}`;
    case 'env':
      return `env ${origin.name}`;
    case 'file':
      return `${origin.file} line ${origin.line}`;
    case 'default':
  }
  return 'default';
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
