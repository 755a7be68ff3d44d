// headworks/extraction: extracts a REST source into a vault and reads vaults, without a server.
import { resolve } from 'node:path';
import { dataOptions } from '../app/options.ts';
import { withDefaults } from '../core/options.ts';
import * as extraction from '../extraction/index.ts';
import { extractionOptions, lookerOptions } from '../extraction/options.ts';
import { openVaultReader } from '../extraction/vault/reader.ts';
import type { ErrorNames } from './boundary.ts';
import {
  checkInput,
  closedError,
  libraryError,
  object,
  run,
  setting,
  settingNames,
  signal,
  storeSettings,
  text,
  variables,
} from './boundary.ts';

export { HeadworksError } from '../core/errors.ts';

/**
 * Settings of {@link extract}.
 *
 * @example const options: ExtractOptions = { source: 'tickets.yaml', vault: 'tickets.vault', ratePerMinute: 600 };
 */
export interface ExtractOptions {
  /** Path of the YAML file that describes the source. */
  readonly source: string;
  /** Path of the vault; created if it does not exist. A run that was interrupted is continued. */
  readonly vault: string;
  /** Maximum number of calls in any minute. Default: 100. */
  readonly ratePerMinute?: number;
  /** Maximum number of calls in any second. Default: 10. */
  readonly ratePerSecond?: number;
  /** Pages in flight at once. Default: the number of cores, at most 8. */
  readonly workers?: number;
  /** Content types to extract. Default: all. */
  readonly types?: readonly string[];
  /** Extract again what is complete, and store what changed. Default: false. */
  readonly fresh?: boolean;
  /** Values of `${NAME}` in the source file. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where grants of the rate limit are kept across runs. Default: `.headworks` in the working directory. */
  readonly dataFolder?: string;
  readonly signal?: AbortSignal;
}

/**
 * What {@link extract} did.
 *
 * @example
 * const report: ExtractionReport = await extract({ source: 'tickets.yaml', vault: 'tickets.vault' });
 * console.log(`${report.items} items in ${report.calls} calls`);
 */
export interface ExtractionReport {
  /** `incomplete`: some pages or items failed; the vault's dead letters list them. */
  readonly state: 'completed' | 'incomplete' | 'interrupted' | 'failed';
  /** Path of the vault. */
  readonly vault: string;
  /** Distinct items of the session. */
  readonly items: number;
  /** Calls for pages and items made now; 0 when everything was there. */
  readonly calls: number;
  /** Calls that received a 429. */
  readonly rateLimitedCalls: number;
}

/**
 * Extracts a REST source into a vault, within its rate limits. Fails with an error with a stable `code`.
 *
 * @example
 * const { state, items } = await extract({ source: 'tickets.yaml', vault: 'tickets.vault' });
 * if (state !== 'completed') console.log(`${state} after ${items} items`);
 */
export async function extract(options: ExtractOptions): Promise<ExtractionReport> {
  const given = checkInput('extract', extractInput, options);
  const { source, vault, ratePerMinute, ratePerSecond, workers, types, fresh } = given;
  const { dataFolder = '.headworks', env = {}, signal: stopped = new AbortController().signal } = given;
  const settings = {
    extraction: withDefaults(extractionOptions, {
      vault: resolve(vault),
      rateLimitPerMinute: ratePerMinute,
      rateLimitPerSecond: ratePerSecond,
      workers,
      types,
      fresh,
    }),
    looker: withDefaults(lookerOptions),
    data: { folder: resolve(dataFolder) },
    redis: { url: null, keyPrefix: '', commandTimeoutMs: 1_000 },
    retention: { vaultVersionsDays: 0, vaultVersionsKeep: 1 },
  };
  return run(
    names,
    async () => {
      const result = await extraction.extract(
        settings,
        { kind: 'rest', file: source },
        { signal: stopped, env, secrets: [], onEvent: () => undefined, onSecret: () => undefined },
      );
      const { state, totals, calls, rateLimitedCalls } = result;
      return { state, vault: result.vault, items: totals.items, calls, rateLimitedCalls };
    },
    stopped,
  );
}

const fields = extractionOptions.fields;

const extractInput = object({
  source: text,
  vault: text,
  ratePerMinute: setting(fields.rateLimitPerMinute),
  ratePerSecond: setting(fields.rateLimitPerSecond),
  workers: setting(fields.workers),
  types: setting(fields.types),
  fresh: setting(fields.fresh),
  env: variables.optional(),
  dataFolder: setting(dataOptions.fields.folder),
  signal: signal.optional(),
}).refine(({ ratePerMinute = Infinity, ratePerSecond = 0 }) => ratePerSecond <= ratePerMinute, {
  path: ['ratePerSecond'],
  message: 'must not be above ratePerMinute',
});

const names: ErrorNames = {
  settings: {
    dataFolder: storeSettings.dataFolder,
    vault: settingNames(extractionOptions, 'vault'),
    types: settingNames(extractionOptions, 'types'),
  },
  explain: ({ message }) =>
    message.replaceAll(/the environment variable (\w+) is not set/g, '$1 is not in env'),
};

/**
 * An item of a vault.
 *
 * @example
 * const vault = openVault('tickets.vault');
 * const items: readonly VaultItem[] = [...vault.items('tickets')];
 * vault.close();
 */
export interface VaultItem {
  readonly type: string;
  readonly id: string;
  readonly name: string | null;
  /** Epoch milliseconds; null when the source has none. */
  readonly updatedAt: number | null;
  /** The item as the source returned it. */
  readonly data: unknown;
}

/**
 * A vault, open for reading; also while an extraction writes to it.
 *
 * @example
 * const vault: Vault = openVault('tickets.vault');
 * console.log(vault.types());
 * vault.close();
 */
export interface Vault {
  /** Names of the content types. */
  types(): readonly string[];
  /** Items of a type in the order of their ids, without deleted ones. Fails when the vault has no such type. */
  items(type: string): Iterable<VaultItem>;
  close(): void;
}

/**
 * Opens a vault for reading. Fails when the file does not exist or is not a vault.
 *
 * @example
 * const vault = openVault('tickets.vault');
 * for (const { id, data } of vault.items('tickets')) console.log(id, data);
 * vault.close();
 */
export function openVault(path: string): Vault {
  const input = checkInput('openVault', object({ path: text }), { path });
  const reader = withLibraryErrors(() => openVaultReader(input.path));
  const read = <T>(work: () => T): T => {
    if (!reader.db.isOpen) throw closedError('vault');
    return withLibraryErrors(work);
  };
  const page = (type: string, after: string) =>
    read(() => reader.items(type, { limit: itemsPerRead, after }));
  function* itemsFrom(type: string, first: ReturnType<typeof page>): Generator<VaultItem> {
    for (let items = first; ; items = page(type, items.at(-1)?.id ?? '')) {
      for (const { id, name, updatedAt } of items) {
        const data = read(() => reader.data(type, id));
        yield { type, id, name, updatedAt, data: JSON.parse(data ?? 'null') as unknown };
      }
      if (items.length < itemsPerRead) return;
    }
  }
  return {
    types: () => read(() => reader.types().map(({ type }) => type)),
    items: (given) => {
      const { type } = checkInput('items', object({ type: text }), { type: given });
      return itemsFrom(type, page(type, ''));
    },
    close: () => reader.close(),
  };
}

const itemsPerRead = 500;

function withLibraryErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw libraryError(error, names);
  }
}
