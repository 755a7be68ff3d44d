// headworks vault show: one item as it is, as it was, or the list of its versions.
import type { Command } from 'commander';
import type { ItemRecord, VersionRecord } from '../../app/vault.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';
import { printable } from '../table.ts';
import { addVaultOption, answerOf, isoMoment, readVault, type VaultOption } from './vault-session.ts';

interface ShowOptions extends VaultOption {
  readonly at?: number;
  readonly versions?: boolean;
}

export function registerVaultShow(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('show').argument('<type>').argument('<id>'))
    .description('one item, pretty-printed')
    .option('--at <version>', 'as it was in this version (see --versions)', wholeNumber(1, 1_000_000_000))
    .option('--versions', 'when it changed, instead of its content');
  examples(command, [
    'headworks vault show dashboards 42',
    'headworks vault show dashboards 42 --versions',
    'headworks vault show explores sales::orders --at 1 --json',
  ]);
  act<ShowOptions>(host, command, async (session, options, [type = '', id = '']) => {
    await readVault(session, options, (reader, { canonicalJson, parseJson }) => {
      const item = reader.item(type, id);
      if (options.versions) return showVersions(session, item, reader.versions(type, id));
      const data = reader.data(type, id, options.at);
      const facts = options.at === undefined ? {} : { version: options.at };
      if (session.out.isJson)
        return session.out.line(
          canonicalJson({ ...answerOf(item), ...facts, data: data === null ? null : parseJson(data) }),
        );
      showFacts(session, item);
      session.out.line();
      if (data === null) return session.out.line('In this version it was gone.');
      for (const line of canonicalJson(parseJson(data), 2).split('\n')) session.out.line(printable(line));
    });
    return exitCodes.ok;
  });
}

function showFacts({ out }: CliSession, item: ItemRecord): void {
  const when = (at: number | null) => (at === null ? '–' : (isoMoment(at) ?? String(at)));
  out.facts([
    ['type', item.type],
    ['id', item.id],
    ['name', item.name ?? '–'],
    ['owner', item.owner ?? '–'],
    ['folder', item.folder ?? '–'],
    ['created', when(item.createdAt)],
    ['updated', when(item.updatedAt)],
    ['last seen', when(item.syncedAt)],
    ['deleted', when(item.deletedAt)],
    ['size', `${item.size} bytes`],
    ['hash', item.hash],
  ]);
}

function showVersions({ out }: CliSession, item: ItemRecord, versions: readonly VersionRecord[]): void {
  if (out.isJson) return out.json({ type: item.type, id: item.id, versions: versions.map(answerOf) });
  out.table(
    ['VERSION', 'FIRST SEEN', 'SESSION', 'SIZE', 'HASH'],
    versions.map(({ number, firstSeenAt, session, size, hash }) => [
      String(number),
      isoMoment(firstSeenAt) ?? '–',
      String(session),
      size === null ? 'gone' : `${size} bytes`,
      hash ?? '–',
    ]),
  );
}
