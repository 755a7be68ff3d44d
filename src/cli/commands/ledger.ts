// headworks ledger: operations that degraded or stayed undone.
import type { Command } from 'commander';
import type { LedgerEntry, LedgerPage } from '../../api/ledger.ts';
import { ledgerApi } from '../../api/ledger.ts';
import type { CommandHost } from '../command-host.ts';
import { examples } from '../command-host.ts';
import { commandFor } from '../derive.ts';
import { humanMoment } from '../output.ts';
import type { CliSession } from '../session.ts';

export function registerLedger(program: Command, host: CommandHost): void {
  const group = program
    .command('ledger')
    .description('list operations that degraded or stayed undone, and resolve them');
  examples(group, ['headworks ledger', 'headworks ledger list --state all', 'headworks ledger get <id>']);

  commandFor(group, host, ledgerApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks ledger list --state all --limit 20', 'headworks ledger list --json'],
    print: (session, page, { query }) => printEntries(session, page, query['state'] === 'open'),
  });
  commandFor(group, host, ledgerApi.listKinds, {
    name: 'kinds',
    examples: ['headworks ledger kinds'],
    print: ({ out }, { kinds }) => {
      if (kinds.length === 0) out.line('There are no kinds yet.');
      else
        out.table(
          ['KIND', 'OPEN', 'REPAIRED', 'REPAIR'],
          kinds.map((each) => [
            each.kind,
            String(each.open),
            String(each.repaired),
            each.repair ?? 'by hand: headworks ledger resolve',
          ]),
        );
    },
  });
  commandFor(group, host, ledgerApi.get, {
    name: 'get',
    examples: ['headworks ledger get 01890a5d-ac96-774b-bcce-b302099a8057'],
    print: printEntry,
  });
  commandFor(group, host, ledgerApi.resolve, {
    name: 'resolve',
    examples: [
      'headworks ledger resolve 01890a5d-ac96-774b-bcce-b302099a8057 --how "imported the file by hand"',
    ],
    print: ({ out }, entry) => out.line(`Ledger entry ${entry.id} is closed.`),
  });
}

function printEntries(session: CliSession, { entries, next }: LedgerPage, isOpenOnly: boolean): void {
  const { out, io } = session;
  if (entries.length === 0) {
    out.line(isOpenOnly ? 'There are no open entries.' : 'There are no such entries.');
    return;
  }
  const now = io.clock.now();
  out.table(
    ['ID', 'KIND', 'SUBJECT', 'CAUSE', 'COUNT', 'LAST SEEN', 'REPAIR'],
    entries.map((entry) => [
      entry.id,
      entry.kind,
      entry.subject,
      entry.cause,
      String(entry.count),
      humanMoment(entry.last_seen_at, now),
      repairText(entry, now),
    ]),
    (text, column) => (column === 0 ? out.style('dim', text) : text),
  );
  if (next !== null) out.note(`There are more: add --after ${next}`);
  if (isOpenOnly) out.note(`Repair them with: ${session.commandLine('repair')}`);
}

function repairText(entry: LedgerEntry, now: number): string {
  if (entry.repaired_at !== null)
    return `${entry.repaired_how ?? 'repaired'} ${humanMoment(entry.repaired_at, now)}`;
  if (entry.next_repair_at !== null) return `next ${humanMoment(entry.next_repair_at, now)}`;
  return entry.repair_attempts === 0 ? 'not tried yet' : `tried ${entry.repair_attempts} times`;
}

function printEntry({ out, io }: CliSession, entry: LedgerEntry): void {
  const when = (iso: string | null) => (iso === null ? '–' : `${iso} (${humanMoment(iso, io.clock.now())})`);
  out.facts([
    ['id', entry.id],
    ['kind', entry.kind],
    ['subject', entry.subject],
    ['message', entry.message],
    ['cause', entry.cause],
    ['count', String(entry.count)],
    ['first seen', when(entry.first_seen_at)],
    ['last seen', when(entry.last_seen_at)],
    [
      'repaired',
      entry.repaired_at === null ? 'no' : `${when(entry.repaired_at)}, ${entry.repaired_how ?? ''}`,
    ],
    ['repair attempts', String(entry.repair_attempts)],
    ['next repair', when(entry.next_repair_at)],
    ['last error', entry.last_repair_error ?? '–'],
    ['details', JSON.stringify(entry.details)],
  ]);
}
