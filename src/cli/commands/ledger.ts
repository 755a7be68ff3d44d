// headworks ledger: what fell back or stayed undone, and what became of it.
import type { LedgerEntry, LedgerPage } from '../../api/ledger.ts';
import type { Command } from 'commander';
import { Option } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { humanMoment } from '../human-time.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';

interface ListOptions {
  readonly state: 'open' | 'repaired' | 'all';
  readonly kind?: string;
  readonly subject?: string;
  readonly limit: number;
  readonly after?: string;
}

export function registerLedger(program: Command, host: CommandHost): void {
  const group = program.command('ledger').description('what fell back or stayed undone, why, and its repair');
  examples(group, ['headworks ledger', 'headworks ledger list --state all', 'headworks ledger show <id>']);
  registerList(group, host);
  registerShow(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list entries, the newest first')
    .addOption(new Option('--state <state>', 'which').choices(['open', 'repaired', 'all']).default('open'))
    .option('--kind <kind>', 'only this kind')
    .option('--subject <subject>', 'only what happened to this')
    .option('--limit <count>', 'how many at most', wholeNumber(1, 500), 50)
    .option('--after <id>', 'continue after this entry');
  examples(command, ['headworks ledger list --state all --limit 20', 'headworks ledger list --json']);
  act<ListOptions>(host, command, async (session, { state, kind, subject, limit, after }) => {
    const query = { state, kind, subject, limit, after };
    const answer = await session.withClient((client) =>
      client.call<LedgerPage>('GET', '/api/v1/ledger', { query, signal: session.io.signal }),
    );
    if (session.out.isJson) session.out.json(answer);
    else showList(session, answer, state);
    return exitCodes.ok;
  });
}

function showList(session: CliSession, { entries, next }: LedgerPage, state: ListOptions['state']): void {
  const { out, io } = session;
  if (entries.length === 0) {
    out.line(state === 'open' ? 'Nothing is open.' : 'There are no such entries.');
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
  if (state === 'open') out.note(`Repair them with: ${session.commandLine('repair')}`);
}

function repairText(entry: LedgerEntry, now: number): string {
  if (entry.repaired_at !== null)
    return `${entry.repaired_how ?? 'repaired'} ${humanMoment(entry.repaired_at, now)}`;
  if (entry.next_repair_at !== null) return `next ${humanMoment(entry.next_repair_at, now)}`;
  return entry.repair_attempts === 0 ? 'not tried yet' : `tried ${entry.repair_attempts} times`;
}

function registerShow(group: Command, host: CommandHost): void {
  const command = group.command('show').argument('<id>').description('everything about one entry');
  examples(command, ['headworks ledger show 01890a5d-ac96-774b-bcce-b302099a8057']);
  act(host, command, async (session, _options, [id = '']) => {
    const entry = await session.withClient((client) =>
      client.call<LedgerEntry>('GET', `/api/v1/ledger/${encodeURIComponent(id)}`, {
        signal: session.io.signal,
      }),
    );
    if (session.out.isJson) session.out.json(entry);
    else showEntry(session, entry);
    return exitCodes.ok;
  });
}

function showEntry({ out, io }: CliSession, entry: LedgerEntry): void {
  const when = (iso: string | null) => (iso === null ? '–' : `${iso} (${humanMoment(iso, io.clock.now())})`);
  out.facts([
    ['id', entry.id],
    ['kind', entry.kind],
    ['subject', entry.subject],
    ['what', entry.message],
    ['cause', entry.cause],
    ['seen', `${entry.count} ${entry.count === 1 ? 'time' : 'times'}`],
    ['first seen', when(entry.first_seen_at)],
    ['last seen', when(entry.last_seen_at)],
    [
      'repaired',
      entry.repaired_at === null ? 'no' : `${when(entry.repaired_at)}, ${entry.repaired_how ?? ''}`,
    ],
    ['repairs tried', String(entry.repair_attempts)],
    ['next repair', when(entry.next_repair_at)],
    ['last error', entry.last_repair_error ?? '–'],
    ['details', JSON.stringify(entry.details)],
  ]);
}
