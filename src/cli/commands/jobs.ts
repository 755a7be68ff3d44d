// headworks jobs: list, watch, retry and cancel background jobs.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { Job, JobCounts, Jobs } from '../../api/jobs.ts';
import type { StreamedEvent } from '../../api/server.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { linkSignals } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { followJob, startProgress } from '../follow-job.ts';
import { wholeNumber } from '../number-argument.ts';
import { humanDuration, humanMoment, printable } from '../output.ts';
import type { CliSession } from '../session.ts';

const states = ['queued', 'running', 'completed', 'failed', 'canceled', 'skipped'] as const;

interface ListOptions {
  readonly name?: string;
  readonly state?: Job['state'];
  readonly limit: number;
}

export function registerJobs(program: Command, host: CommandHost): void {
  const group = program
    .command('jobs')
    .description('background jobs: look at them, run them again, stop them');
  examples(group, ['headworks jobs', 'headworks jobs list --state failed', 'headworks jobs watch']);
  registerList(group, host);
  registerShow(group, host);
  registerChange(group, host, 'retry', 'give a failed job one more try');
  registerChange(group, host, 'cancel', 'stop a pending or running job; it ends as skipped');
  registerJobsWatch(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list jobs, the newest first')
    .option('--name <name>', 'only jobs of this name')
    .addOption(new Option('--state <state>', 'only jobs in this state').choices([...states]))
    .option('--limit <count>', 'how many at most', wholeNumber(1, 500), 50);
  examples(command, [
    'headworks jobs list --state failed',
    'headworks jobs list --name ledger.repair --json',
  ]);
  act<ListOptions>(host, command, async (session, { name, state, limit }) =>
    session.withClient(async (client) => {
      const { signal } = session.io;
      const answer = await client.call<Jobs>('GET', '/api/v1/jobs', {
        query: { name, state, limit },
        signal,
      });
      if (session.out.isJson) session.out.json(answer);
      else showList(session, answer, await client.call<JobCounts>('GET', '/api/v1/jobs/counts', { signal }));
      return exitCodes.ok;
    }),
  );
}

function showList({ out, io }: CliSession, { jobs }: Jobs, { counts }: JobCounts): void {
  const now = io.clock.now();
  if (jobs.length === 0) out.line('There are no such jobs.');
  else
    out.table(
      ['ID', 'NAME', 'STATE', 'TRIES', 'CREATED', 'TOOK', 'NOTE'],
      jobs.map((job) => [
        job.id,
        job.name,
        job.state,
        String(job.attempts),
        humanMoment(job.created_at, now),
        took(job, now),
        note(job, now),
      ]),
      (text, column, row) => styleOf(out, text, column, jobs[row]?.state),
    );
  const totals = states
    .map((state) => [
      state,
      counts.filter((row) => row.state === state).reduce((sum, row) => sum + row.count, 0),
    ])
    .filter(([, count]) => count !== 0);
  if (totals.length > 0)
    out.note(`In all: ${totals.map(([state, count]) => `${count} ${state}`).join(', ')}.`);
}

function styleOf(
  out: CliSession['out'],
  text: string,
  column: number,
  state: Job['state'] | undefined,
): string {
  if (column === 0) return out.style('dim', text);
  return column === 2 && state === 'failed' ? out.style('red', text) : text;
}

function took(job: Job, now: number): string {
  if (job.started_at === null || job.state === 'queued') return '–';
  const end = job.finished_at === null ? now : Date.parse(job.finished_at);
  return humanDuration(end - Date.parse(job.started_at));
}

function note(job: Job, now: number): string {
  // A reason that a running job has is of its last try.
  if (job.reason !== null && !(job.state === 'running' && job.progress !== null)) return job.reason;
  if (job.state === 'queued' && job.start_after !== null && Date.parse(job.start_after) > now)
    return `starts ${humanMoment(job.start_after, now)}`;
  if (job.state !== 'running' || job.progress === null) return '';
  const { done, total, message } = job.progress;
  return `${done}${total ? ` of ${total}` : ''} ${message ?? ''}`.trim();
}

function registerShow(group: Command, host: CommandHost): void {
  const command = group.command('get').argument('<id>').description('everything about one job');
  examples(command, ['headworks jobs get 01890a5d-ac96-774b-bcce-b302099a8057']);
  act(host, command, async (session, _options, [id = '']) => {
    const job = await session.withClient((client) =>
      client.call<Job>('GET', `/api/v1/jobs/${encodeURIComponent(id)}`, { signal: session.io.signal }),
    );
    if (session.out.isJson) session.out.json(job);
    else showJob(session, job);
    return exitCodes.ok;
  });
}

function showJob({ out, io }: CliSession, job: Job): void {
  const now = io.clock.now();
  const when = (iso: string | null) => (iso === null ? '–' : `${iso} (${humanMoment(iso, now)})`);
  out.facts([
    ['id', job.id],
    ['name', job.name],
    ['state', job.state],
    ['tries', String(job.attempts)],
    ['created', when(job.created_at)],
    ['may start', when(job.start_after)],
    ['started', when(job.started_at)],
    ['finished', when(job.finished_at)],
    ['took', took(job, now)],
    ['progress', job.progress === null ? '–' : JSON.stringify(job.progress)],
    ['reason', job.reason ?? '–'],
    ['payload', JSON.stringify(job.payload)],
    ['result', JSON.stringify(job.result ?? null)],
  ]);
}

function registerChange(group: Command, host: CommandHost, verb: 'retry' | 'cancel', describe: string): void {
  const command = group.command(verb).argument('<id>').description(describe);
  examples(command, [`headworks jobs ${verb} 01890a5d-ac96-774b-bcce-b302099a8057`]);
  act(host, command, async (session, _options, [id = '']) => {
    const answer = await session.withClient((client) =>
      client.call<unknown>('POST', `/api/v1/jobs/${encodeURIComponent(id)}/${verb}`, {
        signal: session.io.signal,
      }),
    );
    if (session.out.isJson) session.out.json(answer ?? { id });
    else session.out.line(verb === 'retry' ? `Job ${id} runs again.` : `Job ${id} is stopped.`);
    return exitCodes.ok;
  });
}

export function registerJobsWatch(group: Command, host: CommandHost): void {
  const command = group
    .command('watch')
    .argument('[id]')
    .description('follow one job until it ends, or all jobs live until Ctrl-C')
    .addHelpText('after', '\nWith an id: exits with 4 if the job failed or was skipped.');
  examples(command, [
    'headworks jobs watch',
    'headworks jobs watch --json | head -n 20',
    'headworks jobs watch <id>',
  ]);
  act(host, command, async (session, _options, [id]) =>
    session.withClient(async (client) => {
      const either = linkSignals(session.io.signal, session.io.outputClosed);
      try {
        return id === undefined
          ? await watchAll(session, client, either.signal)
          : await watchOne(session, client, id, either.signal);
      } catch (error) {
        if (session.io.outputClosed.aborted) return exitCodes.ok;
        throw error;
      } finally {
        either.dispose();
      }
    }),
  );
}

async function watchOne(
  session: CliSession,
  client: HeadworksClient,
  id: string,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { out, io } = session;
  const progress = startProgress(session, 'Job');
  const onChange = (job: Job) => {
    if (out.isJson) out.jsonLine(job);
    else
      progress.show({
        done: job.progress?.done ?? 0,
        total: job.progress?.total ?? null,
        message: messageOf(job),
      });
  };
  const job = await followJob(client, id, { clock: io.clock, signal, onChange }).finally(() =>
    progress.end(),
  );
  if (!out.isJson)
    out.line(printable(`${job.name} ${job.state}${job.reason === null ? '' : `: ${job.reason}`}`));
  return job.state === 'completed' ? exitCodes.ok : exitCodes.incomplete;
}

function messageOf(job: Job): string {
  return [job.name, job.state, job.progress?.message ?? ''].join(' ').trimEnd();
}

async function watchAll(
  { out, io }: CliSession,
  client: HeadworksClient,
  signal: AbortSignal,
): Promise<ExitCode> {
  out.note(`Watching jobs at ${client.url}; Ctrl-C ends it.`);
  for await (const event of client.events(signal)) {
    if (!event.name.startsWith('job:')) continue;
    if (out.isJson) out.jsonLine(event.data);
    else out.line(eventLine(event.data as unknown as StreamedEvent));
  }
  return io.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

/** `12:03:04 job:completed ledger.repair 0190… 350 ms` (UTC) */
function eventLine({ name, at, payload }: StreamedEvent): string {
  const { name: jobName, job_id: jobId, done, total, duration_ms: durationMs, reason } = payload;
  const amount = typeof done === 'number' ? `${done}${typeof total === 'number' ? ` of ${total}` : ''}` : '';
  const duration = typeof durationMs === 'number' ? humanDuration(durationMs) : '';
  const parts = [at.slice(11, 19), name.padEnd(12), jobName, jobId, amount, duration, reason];
  return printable(parts.filter((part) => typeof part === 'string' && part !== '').join(' '));
}
