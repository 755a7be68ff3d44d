// headworks ledger: operations that degraded or stayed undone.
import type { Command } from 'commander';
import type { LedgerEntry } from '../../api/ledger.ts';
import { ledgerApi } from '../../api/ledger.ts';
import type { CliContext } from '../command.ts';
import { exampleId, examples } from '../command.ts';
import { commandFor } from '../derive.ts';
import type { Output } from '../output.ts';

export function register(group: Command, context: CliContext): void {
  examples(group, ['headworks ledger', 'headworks ledger list --state all', 'headworks ledger get ID']);

  commandFor(group, context, ledgerApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks ledger list --state all --limit 20', 'headworks ledger list --json'],
    print: (session, { entries, next }, { query }) => {
      const { out } = session;
      const isOpenOnly = query.state === 'open';
      out.list(entries, isOpenOnly ? 'There are no open entries.' : 'There are no such entries.', [
        'id',
        'kind',
        'subject',
        'cause',
        'count',
        'last_seen_at',
        ['repair', (entry) => repairText(out, entry)],
      ]);
      out.nextPage(next);
      if (isOpenOnly && entries.length > 0) out.note(`Repair them with: ${session.commandLine('repair')}`);
    },
  });

  commandFor(group, context, ledgerApi.listKinds, {
    name: 'kinds',
    examples: ['headworks ledger kinds'],
    print: ({ out }, { kinds }) =>
      out.list(kinds, 'There are no entries.', [
        'kind',
        'open',
        'repaired',
        ['repair', ({ repair }) => repair ?? 'by hand: headworks ledger resolve'],
      ]),
  });

  commandFor(group, context, ledgerApi.get, {
    name: 'get',
    examples: [`headworks ledger get ${exampleId}`],
    print: ({ out }, entry) => out.fields(entry),
  });

  commandFor(group, context, ledgerApi.resolve, {
    name: 'resolve',
    examples: [`headworks ledger resolve ${exampleId} --how "imported the file by hand"`],
    print: ({ out }, { id }) => out.line(`Ledger entry ${id} is resolved.`),
  });
}

function repairText(out: Output, entry: LedgerEntry): string {
  if (entry.repaired_at !== null) return `${entry.repaired_how ?? 'repaired'} ${out.ago(entry.repaired_at)}`;
  if (entry.next_repair_at !== null) return `next ${out.ago(entry.next_repair_at)}`;
  return entry.repair_attempts === 0 ? 'not tried yet' : `tried ${entry.repair_attempts} times`;
}
