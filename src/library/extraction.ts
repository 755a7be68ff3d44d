// headworks/extraction: extracts a REST source into a vault and reads vaults, without a server.
import { resolve } from 'node:path';
import { checkNames } from './check-names.ts';
import { optionValues } from '../core/options.ts';
import * as extraction from '../extraction/index.ts';
import { extractionOptions, lookerOptions } from '../extraction/options.ts';
import type { VaultReader } from '../extraction/vault/reader.ts';
import { openVaultReader } from '../extraction/vault/reader.ts';

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

const optionNames = [
  'source',
  'vault',
  'ratePerMinute',
  'ratePerSecond',
  'workers',
  'types',
  'fresh',
  'env',
  'dataFolder',
  'signal',
];

/**
 * What {@link extract} did.
 *
 * @example
 * const report: ExtractionReport = await extract({ source: 'tickets.yaml', vault: 'tickets.vault' });
 * console.log(`${report.items} items in ${report.calls} calls`);
 */
export interface ExtractionReport {
  /** `incomplete`: some pages or items failed; the vault's dead letters list them. */
  readonly status: 'completed' | 'incomplete' | 'interrupted' | 'failed';
  /** Path of the vault. */
  readonly vault: string;
  /** Distinct items of the session. */
  readonly items: number;
  /** Calls made now; 0 when everything was there already. */
  readonly calls: number;
  /** Calls that received a 429. */
  readonly rateLimitedCalls: number;
}

/**
 * Extracts a REST source into a vault, within its rate limits. Fails with an error with a stable `code`.
 *
 * @example
 * const { status, items } = await extract({ source: 'tickets.yaml', vault: 'tickets.vault' });
 * if (status !== 'completed') console.log(`${status} after ${items} items`);
 */
export async function extract(options: ExtractOptions): Promise<ExtractionReport> {
  checkNames('extract', options, optionNames);
  const { dataFolder = '.headworks', env = {}, signal = new AbortController().signal } = options;
  const settings = {
    extraction: optionValues(extractionOptions, {
      vault: resolve(options.vault),
      rateLimitPerMinute: options.ratePerMinute,
      rateLimitPerSecond: options.ratePerSecond,
      workers: options.workers,
      types: options.types,
      fresh: options.fresh,
    }),
    looker: optionValues(lookerOptions),
    data: { folder: resolve(dataFolder) },
    redis: { url: null, keyPrefix: '', commandTimeoutMs: 1_000 },
    retention: { vaultVersionsDays: 0, vaultVersionsKeep: 1 },
  };
  const { status, vault, totals, calls, rateLimitedCalls } = await extraction.extract(
    settings,
    { kind: 'rest', file: options.source },
    { signal, env, secrets: [], onEvent: () => undefined, onSecret: () => undefined },
  );
  return { status, vault, items: totals.items, calls, rateLimitedCalls };
}

/**
 * An item of a vault.
 *
 * @example
 * const vault = openVault('tickets.vault');
 * const items: readonly VaultItem[] = [...vault.items('tickets')];
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
  const reader = openVaultReader(path);
  return {
    types: () => reader.types().map(({ type }) => type),
    items: (type) => itemsOf(reader, type),
    close: () => reader.close(),
  };
}

const itemsPerRead = 500;

function* itemsOf(reader: VaultReader, type: string): Generator<VaultItem> {
  for (let after = ''; ;) {
    const items = reader.items(type, { limit: itemsPerRead, after });
    for (const { id, name, updatedAt } of items)
      yield { type, id, name, updatedAt, data: JSON.parse(reader.data(type, id) ?? 'null') as unknown };
    const last = items.at(-1);
    if (!last || items.length < itemsPerRead) return;
    after = last.id;
  }
}
