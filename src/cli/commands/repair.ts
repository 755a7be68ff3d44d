// headworks repair: repairs open ledger entries now and waits for the result.
import type { Command } from 'commander';
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import type { Job } from '../../api/jobs.ts';
import type { LedgerPage } from '../../api/ledger.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { CoreError } from '../../core/index.ts';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { followWithProgress } from '../follow-job.ts';
import type { CliSession } from '../session.ts';

interface RepairOptions {
  readonly kind?: string;
  readonly id?: string;
}

/** Open entries that are listed. */
const maxEntries = 100;

export function register(command: Command, context: CliContext): void {
  command
    .option('--kind <kind>', 'only entries of this kind')
    .addOption(new Option('--id <id>', 'only this entry').conflicts('kind'))
    .addHelpText('after', '\nExits with 4 if entries are still open afterwards.');
  examples(command, [
    'headworks repair',
    'headworks repair --kind retention.purge-failed',
    'headworks repair --json',
  ]);
  action<RepairOptions>(context, command, async (session, options) =>
    session.withClient(async (client) => {
      const job = await runRepair(session, client, options);
      if (job?.state === 'failed')
        throw new CoreError(
          'INTERNAL',
          `The repair could not run: ${sentence(job.reason ?? 'no reason was given')} See headworks jobs get ${job.id}.`,
        );
      const open = await openEntries(client, options);
      if (session.out.isJson) session.out.json({ job, still_open: open.entries, more: open.next !== null });
      else printOutcome(session, open);
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
  const jobId = await requestRepair(client, options);
  return jobId === null
    ? null
    : followWithProgress(session, client, jobId, { title: 'Repairing', what: 'The repair' });
}

async function requestRepair(client: HeadworksClient, body: RepairOptions): Promise<string | null> {
  const { job_id: jobId } = await callApi(client, 'POST /api/v1/ledger/repair', { body });
  if (jobId !== null) return jobId;
  const query = { name: 'ledger.repair', state: 'queued,running' };
  const { jobs } = await callApi(client, 'GET /api/v1/jobs', { query });
  const same = jobs.find(({ payload }) => {
    const running = (payload ?? {}) as RepairOptions & { readonly due?: boolean };
    return running.kind === body.kind && running.id === body.id && running.due !== true;
  });
  return same?.id ?? null;
}

/** From the ledger itself, whatever the job reported. */
async function openEntries(client: HeadworksClient, { kind, id }: RepairOptions): Promise<LedgerPage> {
  if (id !== undefined) {
    const entry = await callApi(client, 'GET /api/v1/ledger/:id', { params: { id } });
    return { entries: entry.repaired_at === null ? [entry] : [], next: null };
  }
  return callApi(client, 'GET /api/v1/ledger', { query: { state: 'open', kind, limit: maxEntries } });
}

function printOutcome({ out }: CliSession, { entries, next }: LedgerPage): void {
  if (entries.length === 0) {
    out.line(out.style('green', 'Everything is repaired.'));
    return;
  }
  out.list(entries, '', [
    'id',
    'kind',
    'subject',
    ['reason', ({ last_repair_error: error, message }) => error ?? message],
  ]);
  const count = next === null ? String(entries.length) : `More than ${entries.length - 1}`;
  out.note(`${count} still open. Background repair retries them; see headworks ledger get ID.`);
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);
