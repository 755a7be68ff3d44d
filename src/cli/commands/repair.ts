// headworks repair: runs repairs now and waits; says what is still broken.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { Job, Jobs } from '../../api/jobs.ts';
import type { LedgerEntry, LedgerPage, RepairRequested } from '../../api/ledger.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { CoreError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { followWithProgress } from '../follow-job.ts';
import type { CliSession } from '../session.ts';

interface RepairOptions {
  readonly kind?: string;
  readonly id?: string;
}

/** How many open entries are read to tell what is still broken. */
const shownAtMost = 100;

export function registerRepair(program: Command, host: CommandHost): void {
  const command = program
    .command('repair')
    .description('repair what the ledger has open, wait for it, and say what is still broken')
    .option('--kind <kind>', 'only entries of this kind')
    .addOption(new Option('--id <id>', 'only this entry').conflicts('kind'))
    .addHelpText('after', '\nExits with 4 if something is still broken afterwards.');
  examples(command, [
    'headworks repair',
    'headworks repair --kind retention.purge-failed',
    'headworks repair --json',
  ]);
  act<RepairOptions>(host, command, async (session, options) =>
    session.withClient(async (client) => {
      const job = await runRepair(session, client, options);
      if (job?.state === 'failed')
        throw new CoreError(
          'INTERNAL',
          `The repair could not run: ${sentence(job.reason ?? 'no reason was given')} See headworks jobs get ${job.id}.`,
        );
      const open = await stillOpen(session, client, options);
      if (session.out.isJson) session.out.json({ job, still_open: open.entries, more: open.next !== null });
      else showOutcome(session, open);
      return open.entries.length > 0 ? exitCodes.incomplete : exitCodes.ok;
    }),
  );
}

/** The finished job; `null` when the same repair was already running and has finished. */
async function runRepair(
  session: CliSession,
  client: HeadworksClient,
  options: RepairOptions,
): Promise<Job | null> {
  const jobId = await requestRepair(session, client, options);
  return jobId === null
    ? null
    : followWithProgress(session, client, jobId, { title: 'Repairing', what: 'The repair' });
}

async function requestRepair(
  { io }: CliSession,
  client: HeadworksClient,
  { kind, id }: RepairOptions,
): Promise<string | null> {
  const { signal } = io;
  const body = { ...(kind === undefined ? {} : { kind }), ...(id === undefined ? {} : { id }) };
  const answer = await client.call<RepairRequested>('POST', '/api/v1/ledger/repair', { body, signal });
  if (answer.job_id !== null) return answer.job_id;
  const query = { name: 'ledger.repair', state: 'queued,running' };
  const { jobs } = await client.call<Jobs>('GET', '/api/v1/jobs', { query, signal });
  const same = jobs.find(({ payload }) => {
    const asked = (payload ?? {}) as RepairOptions & { readonly due?: boolean };
    return asked.kind === kind && asked.id === id && asked.due !== true;
  });
  return same?.id ?? null;
}

/** The ledger itself says what is open, whatever the job thinks it did. */
async function stillOpen(
  { io }: CliSession,
  client: HeadworksClient,
  { kind, id }: RepairOptions,
): Promise<LedgerPage> {
  if (id !== undefined) {
    const path = `/api/v1/ledger/${encodeURIComponent(id)}`;
    const entry = await client.call<LedgerEntry>('GET', path, { signal: io.signal });
    return { entries: entry.repaired_at === null ? [entry] : [], next: null };
  }
  const query = { state: 'open', kind, limit: shownAtMost };
  return client.call<LedgerPage>('GET', '/api/v1/ledger', { query, signal: io.signal });
}

function showOutcome({ out }: CliSession, { entries, next }: LedgerPage): void {
  if (entries.length === 0) {
    out.line(out.style('green', 'Everything is repaired.'));
    return;
  }
  out.table(
    ['STILL OPEN', 'KIND', 'SUBJECT', 'WHY'],
    entries.map((entry) => [entry.id, entry.kind, entry.subject, entry.last_repair_error ?? entry.message]),
  );
  const count = next === null ? String(entries.length) : `More than ${entries.length - 1}`;
  out.note(`${count} still broken. Background repair retries them; see headworks ledger get <id>.`);
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);
