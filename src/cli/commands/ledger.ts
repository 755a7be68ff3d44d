// headworks ledger, repair: operations that were degraded or skipped, and their repair.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import { id as entryId } from '../../api/fields.ts';
import type { Job } from '../../api/jobs.ts';
import type { LedgerEntry, LedgerPage } from '../../api/ledger.ts';
import { ledgerApi } from '../../api/ledger.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { CoreError, shellWord } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { exampleId } from '../command.ts';
import { commandFor, parserFor } from '../derive.ts';
import { exitCodes } from '../exit-codes.ts';
import { followWithProgress } from '../follow-job.ts';
import type { Output } from '../output.ts';
import type { CliSession } from '../session.ts';

export const commands = { ledger: registerLedger, repair: registerRepair };

function registerLedger(group: CliCommand): void {
  commandFor(group, ledgerApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks ledger list --state all --limit 20', 'headworks ledger list --json'],
    print: async (session, { entries, next }, { query, client }) => {
      const { out } = session;
      const documents = await documentsOf(client, entries);
      const isOpenOnly = query.state === 'open';
      out.list(entries, isOpenOnly ? 'There are no open entries.' : 'There are no such entries.', [
        'id',
        'kind',
        ['subject', (entry) => subjectText(entry, documents)],
        'cause',
        'count',
        'last_seen_at',
        ['repair', (entry) => repairText(out, entry)],
      ]);
      out.nextPage(next);
      printDocuments(session, documents);
      if (isOpenOnly && entries.length > 0) out.note(`Repair them with: ${session.commandLine('repair')}`);
    },
  });

  commandFor(group, ledgerApi.listKinds, {
    name: 'kinds',
    examples: ['headworks ledger kinds'],
    print: ({ out }, { kinds }) =>
      out.list(kinds, 'There are no entries.', [
        'kind',
        'open',
        'resolved',
        ['repair', ({ repair }) => repair ?? 'by hand: headworks ledger resolve'],
      ]),
  });

  commandFor(group, ledgerApi.get, {
    name: 'get',
    examples: [`headworks ledger get ${exampleId}`],
    print: async (session, entry, { client }) => {
      session.out.fields(entry);
      printDocuments(session, await documentsOf(client, [entry]));
    },
  });

  commandFor(group, ledgerApi.resolve, {
    name: 'resolve',
    examples: [`headworks ledger resolve ${exampleId} --resolution "imported the file by hand"`],
    print: ({ out }, { id }) => out.line(`Ledger entry ${id} is resolved.`),
  });
}

function repairText(out: Output, entry: LedgerEntry): string {
  if (entry.resolved_at !== null) return `${entry.resolution ?? 'resolved'} ${out.ago(entry.resolved_at)}`;
  if (entry.next_repair_at !== null) return `next ${out.ago(entry.next_repair_at)}`;
  return entry.repair_attempts === 0 ? 'not tried yet' : `tried ${entry.repair_attempts} times`;
}

interface EntryDocument {
  readonly title: string;
  /** Flags that select its space. */
  readonly flags: string;
}

type Documents = ReadonlyMap<string, EntryDocument>;

const documentIdOf = ({ details }: LedgerEntry): string | null =>
  typeof details['artifact_id'] === 'string' ? details['artifact_id'] : null;

/** The number of a chunk says nothing to a reader, so the title replaces it. */
function subjectText(entry: LedgerEntry, documents: Documents): string {
  const document = documents.get(documentIdOf(entry) ?? '');
  if (!document) return entry.subject;
  return /^\d+$/.test(entry.subject) ? `"${document.title}"` : `${entry.subject} in "${document.title}"`;
}

/** The API takes this many ids at once. */
const maxIds = 50;

/** Documents of the entries by id. An entry does not name the space, so spaces are searched until all are found. */
async function documentsOf(client: HeadworksClient, entries: readonly LedgerEntry[]): Promise<Documents> {
  const missing = new Set(entries.flatMap((entry) => documentIdOf(entry) ?? []).slice(0, maxIds));
  const found = new Map<string, EntryDocument>();
  if (missing.size === 0) return found;
  const { spaces } = await callApi(client, 'GET /api/v1/knowledge/spaces');
  for (const { name: space, organization_id: organization } of spaces) {
    if (missing.size === 0) break;
    const place = { space, ...(organization === null ? {} : { organization }) };
    const { statuses } = await callApi(client, 'GET /api/v1/knowledge/artifacts/statuses', {
      query: { ids: [...missing].join(','), ...place },
    });
    for (const { id, title, source_id: source } of statuses) {
      missing.delete(id);
      found.set(id, { title: title || source, flags: spaceFlags(place) });
    }
  }
  return found;
}

const spaceFlags = ({ space, organization }: { readonly space: string; readonly organization?: string }) =>
  [
    ...(space === 'default' ? [] : [` --space ${shellWord(space)}`]),
    ...(organization === undefined ? [] : [` --organization ${shellWord(organization)}`]),
  ].join('');

function printDocuments(session: CliSession, documents: Documents): void {
  if (documents.size === 0) return;
  session.out.line();
  session.out.table(
    ['DOCUMENT', 'OPEN IT WITH'],
    [...documents].map(([id, { title, flags }]) => [
      title,
      session.commandLine(`artifacts get ${id}${flags}`),
    ]),
  );
}

interface RepairOptions {
  readonly kind?: string;
  readonly id?: string;
}

/** Open entries that are listed. */
const maxEntries = 100;

function registerRepair(command: CliCommand): void {
  command
    .option('--kind <kind>', 'only entries of this kind')
    .addOption(new Option('--id <id>', 'only this entry').argParser(parserFor(entryId)).conflicts('kind'))
    .addHelpText('after', '\nExits with 4 if entries are still open afterwards.');
  command.examples([
    'headworks repair',
    'headworks repair --kind retention.purge-failed',
    'headworks repair --json',
  ]);
  command.run<RepairOptions>(async (session, options) =>
    session.withClient(async (client) => {
      const job = await runRepair(session, client, options);
      if (job?.state === 'failed')
        throw new CoreError(
          'INTERNAL',
          `The repair could not run: ${sentence(job.reason ?? 'no reason was given')} See headworks jobs get ${job.id}.`,
        );
      const open = await openEntries(client, options);
      if (session.out.isJson) session.out.json({ job, still_open: open.entries, more: open.next !== null });
      else await printOutcome(session, client, open);
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

/** Open entries according to the ledger itself, whatever the job reported. */
async function openEntries(client: HeadworksClient, { kind, id }: RepairOptions): Promise<LedgerPage> {
  if (id !== undefined) {
    const entry = await callApi(client, 'GET /api/v1/ledger/:id', { params: { id } });
    return { entries: entry.resolved_at === null ? [entry] : [], next: null };
  }
  return callApi(client, 'GET /api/v1/ledger', { query: { state: 'open', kind, limit: maxEntries } });
}

async function printOutcome(
  session: CliSession,
  client: HeadworksClient,
  { entries, next }: LedgerPage,
): Promise<void> {
  const { out } = session;
  if (entries.length === 0) {
    out.line(out.style('green', 'Everything is repaired.'));
    return;
  }
  const documents = await documentsOf(client, entries);
  out.list(entries, '', [
    'id',
    'kind',
    ['subject', (entry) => subjectText(entry, documents)],
    ['reason', ({ last_repair_error: error, message }) => error ?? message],
  ]);
  printDocuments(session, documents);
  const count = next === null ? String(entries.length) : `More than ${entries.length - 1}`;
  out.note(`${count} still open. Background repair retries them; see headworks ledger get ID.`);
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);
