// headworks vault list: the types in a vault, or the items of one of them.
import type { Command } from 'commander';
import type { ItemRecord, SessionRecord, TypeRecord } from '../../app/vault.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';
import { sizeText } from '../size-text.ts';
import { addVaultOption, answerOf, moment, readVault, type VaultOption } from './vault-session.ts';

interface ListOptions extends VaultOption {
  readonly limit: number;
  readonly after?: string;
  readonly deleted?: boolean;
  readonly sessions?: boolean;
}

export function registerVaultList(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('list', { isDefault: true }).argument('[type]'))
    .description('types with their counts; with a type, its items; with --sessions, the extractions')
    .option('--sessions', 'the extractions that wrote it, newest first')
    .option('--deleted', 'also items that are no longer there')
    .option('--limit <count>', 'how many items or sessions at most', wholeNumber(1, 10_000), 100)
    .option('--after <id>', 'continue after this item');
  examples(command, [
    'headworks vault list',
    'headworks vault list dashboards --limit 20',
    'headworks vault list --sessions --json',
  ]);
  act<ListOptions>(host, command, async (session, options, [type]) => {
    await readVault(session, options, (reader) => {
      if (type !== undefined) {
        const { limit, after, deleted = false } = options;
        const query = { limit: limit + 1, withDeleted: deleted, ...(after === undefined ? {} : { after }) };
        showItems(session, reader.items(type, query), limit);
      } else if (options.sessions) showSessions(session, reader.sessions(options.limit));
      else showTypes(session, reader.source(), reader.types());
    });
    return exitCodes.ok;
  });
}

function showTypes(session: CliSession, source: string | null, types: readonly TypeRecord[]): void {
  const { out } = session;
  if (out.isJson) return out.json({ source, types: types.map(answerOf) });
  if (types.length === 0) return out.line('The vault is empty.');
  out.table(
    ['TYPE', 'ITEMS', 'DELETED', 'SIZE', 'SESSION', 'STATUS', 'READ', 'WHY'],
    types.map((type) => [
      type.type,
      String(type.live),
      String(type.deleted),
      sizeText(type.bytes),
      String(type.session),
      type.scope === null ? type.status : `${type.status} (${type.scope})`,
      moment(session, type.completedAt),
      type.reason ?? '',
    ]),
    (text, column, row) => {
      if (column !== 5) return text;
      return out.style(types[row]?.status === 'completed' ? 'green' : 'yellow', text);
    },
  );
  out.note(`From ${source ?? 'no source yet'}.`);
}

function showItems(session: CliSession, found: readonly ItemRecord[], limit: number): void {
  const { out } = session;
  const items = found.slice(0, limit);
  const next = found.length > limit ? (items.at(-1)?.id ?? null) : null;
  if (out.isJson) return out.json({ items: items.map(answerOf), next });
  if (items.length === 0) return out.line('There are no such items.');
  out.table(
    ['ID', 'NAME', 'OWNER', 'FOLDER', 'SIZE', 'UPDATED', 'DELETED'],
    items.map((item) => [
      item.id,
      item.name ?? '–',
      item.owner ?? '–',
      item.folder ?? '–',
      sizeText(item.size),
      moment(session, item.updatedAt),
      moment(session, item.deletedAt),
    ]),
  );
  if (next !== null) out.note(`There are more: add --after '${next}'`);
}

function showSessions(session: CliSession, sessions: readonly SessionRecord[]): void {
  const { out } = session;
  if (out.isJson) return out.json({ sessions: sessions.map(answerOf) });
  if (sessions.length === 0) return out.line('Nothing was extracted yet.');
  out.table(
    ['SESSION', 'STARTED', 'STATUS', 'ITEMS', 'CALLS', 'ERRORS', 'WORKERS', 'ITEMS/S', 'ID'],
    sessions.map((one) => [
      String(one.number),
      moment(session, one.startedAt),
      one.status,
      String(one.totalItems),
      String(one.totalCalls),
      String(one.errors),
      String(one.workerCount ?? 'sequential'),
      one.throughputItemsPerSecond === null ? '–' : one.throughputItemsPerSecond.toFixed(1),
      one.id,
    ]),
  );
}
