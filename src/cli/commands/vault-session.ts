// What the vault commands share: which vault, and how its records look to programs and to people.
import type { Command } from 'commander';
import type * as vaultTools from '../../app/vault.ts';
import { humanMoment } from '../human-time.ts';
import type { CliSession } from '../session.ts';
import { toSnakeCase } from '../../core/index.ts';

export interface VaultOption {
  readonly vault?: string;
}

type VaultTools = typeof vaultTools;

export function addVaultOption(command: Command): Command {
  return command.option('--vault <file>', 'the vault; default: the only one in the data folder');
}

/** Opens the vault for reading; `tools` is what the application can do with it. */
export async function readVault<T>(
  session: CliSession,
  { vault }: VaultOption,
  work: (reader: vaultTools.VaultReader, tools: VaultTools) => T | Promise<T>,
): Promise<T> {
  const dataFolder = session.config().data.folder;
  const tools = await import('../../app/vault.ts');
  return tools.withVault({ file: vault, cwd: session.io.cwd, dataFolder }, (reader) => {
    if (reader.wasOlder) session.out.note(updatedText(reader.path));
    return work(reader, tools);
  });
}

/** What a command that only reads did to the vault all the same. */
export const updatedText = (path: string): string =>
  `${path} was of an older version and was brought up to date. Older versions of Headworks can no longer read it.`;

/** The file that is meant, for a command that does not only read it. */
export async function chosenVault(
  session: CliSession,
  { vault }: VaultOption,
): Promise<{ readonly path: string; readonly tools: VaultTools }> {
  const dataFolder = session.config().data.folder;
  const tools = await import('../../app/vault.ts');
  return { path: await tools.chooseVault({ file: vault, cwd: session.io.cwd, dataFolder }), tools };
}

/** A record as programs get it: names as in the tables, moments in ISO 8601. Nested records are left as they are. */
export function answerOf(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]: [string, unknown]) => [
      toSnakeCase(name),
      /At$|^at$/.test(name) && typeof value === 'number' ? isoMoment(value) : value,
    ]),
  );
}

/** `3 min ago`; a dash for no moment at all. */
export const moment = ({ io }: CliSession, at: number | null): string =>
  humanMoment(at === null ? null : isoMoment(at), io.clock.now());

/** Null for what a source gave as a moment and is none. */
export function isoMoment(at: number): string | null {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
