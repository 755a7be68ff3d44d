// headworks jobs: list, watch, retry and cancel background jobs.
import { callApi } from '../../api/client.ts';
import { id as jobId } from '../../api/fields.ts';
import type { Job } from '../../api/jobs.ts';
import { jobsApi } from '../../api/jobs.ts';
import type { StreamedEvent } from '../../api/server.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { linkSignals } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { exampleId } from '../command.ts';
import { commandFor, parserFor } from '../derive.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { followJob, startProgress } from '../follow-job.ts';
import type { Output } from '../output.ts';
import { formatDuration, printable } from '../output.ts';
import type { CliSession } from '../session.ts';

export function register(group: CliCommand): void {
  commandFor(group, jobsApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks jobs list --state failed', 'headworks jobs list --name ledger.repair --json'],
    print: async ({ out, io }, { jobs, next }, { client }) => {
      const now = io.clock.now();
      out.list(jobs, 'There are no such jobs.', [
        'id',
        'name',
        'state',
        'attempts',
        'created_at',
        ['duration', (job) => durationText(job, now)],
        ['note', (job) => note(out, job, now)],
      ]);
      const { counts } = await callApi(client, 'GET /api/v1/jobs/counts');
      const totals = Object.entries(Object.groupBy(counts, ({ state }) => state))
        .map(([state, rows]) => `${rows.reduce((sum, { count }) => sum + count, 0)} ${state}`)
        .toSorted((a, b) => a.split(' ')[1]?.localeCompare(b.split(' ')[1] ?? '') ?? 0);
      if (totals.length > 0) out.note(`Total: ${totals.join(', ')}.`);
      out.nextPage(next);
    },
  });

  commandFor(group, jobsApi.get, {
    name: 'get',
    examples: [`headworks jobs get ${exampleId}`],
    print: ({ out, io }, job) => out.fields(job, { duration: durationText(job, io.clock.now()) }),
  });

  commandFor(group, jobsApi.retry, {
    name: 'retry',
    examples: [`headworks jobs retry ${exampleId}`],
    print: ({ out }, _job, { params }) => out.line(`Job ${params['id']} is queued again.`),
  });

  commandFor(group, jobsApi.cancel, {
    name: 'cancel',
    description: 'cancel a queued or running job',
    examples: [`headworks jobs cancel ${exampleId}`],
    print: ({ out }, _job, { params }) => out.line(`Job ${params['id']} is canceled.`),
  });

  registerWatch(group);
}

function durationText(job: Job, now: number): string {
  if (job.started_at === null || job.state === 'queued') return '–';
  const end = job.finished_at === null ? now : Date.parse(job.finished_at);
  return formatDuration(end - Date.parse(job.started_at));
}

function note(out: Output, job: Job, now: number): string {
  // The reason of a running job is that of its last attempt.
  if (job.reason !== null && !(job.state === 'running' && job.progress !== null)) return job.reason;
  if (job.state === 'queued' && job.start_after !== null && Date.parse(job.start_after) > now)
    return `starts ${out.ago(job.start_after)}`;
  if (job.state !== 'running' || job.progress === null) return '';
  const { done, total, message } = job.progress;
  return `${done}${total ? ` of ${total}` : ''} ${message ?? ''}`.trim();
}

function registerWatch(group: CliCommand): void {
  const command = group
    .command('watch')
    .argument('[id]', 'id of a job; default: all jobs', parserFor(jobId))
    .description('follow a job until it ends, or all jobs until Ctrl-C')
    .addHelpText('after', '\nWith an id: exits with 4 unless the job completed.');
  command.examples([
    'headworks jobs watch',
    'headworks jobs watch --json | head -n 20',
    `headworks jobs watch ${exampleId}`,
  ]);
  command.run(async (session, _options, [id]) =>
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
    if (out.isJson) return out.jsonLine(job);
    const message = [job.name, job.state, job.progress?.message ?? ''].join(' ').trimEnd();
    progress.show({ done: job.progress?.done ?? 0, total: job.progress?.total ?? null, message });
  };
  const job = await followJob(client, id, { clock: io.clock, signal, onChange }).finally(() =>
    progress.end(),
  );
  if (!out.isJson)
    out.line(printable(`${job.name} ${job.state}${job.reason === null ? '' : `: ${job.reason}`}`));
  return job.state === 'completed' ? exitCodes.ok : exitCodes.incomplete;
}

async function watchAll(
  { out, io }: CliSession,
  client: HeadworksClient,
  signal: AbortSignal,
): Promise<ExitCode> {
  out.note(`Watching jobs at ${client.url}; Ctrl-C ends it.`);
  const running = new Set<string>();
  let lastAt = new Date(io.clock.now()).toISOString();
  const print = (event: StreamedEvent) => {
    const id = String(event.payload['job_id']);
    if (event.name === 'job:started') running.add(id);
    else if (endings.has(event.name)) running.delete(id);
    lastAt = event.at;
    if (out.isJson) out.jsonLine(event);
    else out.line(eventLine(event));
  };
  /** Printed by `catchUp`; the stream may bring them, too. */
  const caughtUp = new Set<string>();
  const keyOf = ({ name, payload }: StreamedEvent) => `${name} ${String(payload['job_id'])}`;
  const catchUp = async () => {
    const { jobs } = await callApi(client, 'GET /api/v1/jobs', { query: { limit: 500 }, signal });
    for (const event of missedEvents(jobs, running, lastAt)) {
      print(event);
      caughtUp.add(keyOf(event));
    }
  };
  let catchingUp = Promise.resolve();
  const onReconnect = () => {
    // When this fails, the connection is lost again: the next one catches up.
    catchingUp = catchUp().catch(() => undefined);
  };
  for await (const { name, data } of client.events(signal, onReconnect)) {
    await catchingUp;
    const event = data as unknown as StreamedEvent;
    if (name.startsWith('job:') && !caughtUp.delete(keyOf(event))) print(event);
  }
  await catchingUp;
  return io.signal.aborted ? exitCodes.interrupted : exitCodes.ok;
}

const endings = new Set(['job:completed', 'job:failed', 'job:skipped', 'job:canceled']);

/** Events are not replayed after a reconnect: the states of the jobs show which there were. Oldest first. */
function missedEvents(
  jobs: readonly Job[],
  running: ReadonlySet<string>,
  lastAt: string,
): readonly StreamedEvent[] {
  return jobs
    .flatMap((job) => {
      const { id, name, state, reason } = job;
      const payload = { name, job_id: id, ...(reason === null ? {} : { reason }) };
      const isKnown = running.has(id);
      if (state === 'running' && !isKnown)
        return [{ name: 'job:started', at: job.started_at ?? lastAt, payload }];
      const endedAt = job.finished_at ?? '';
      return endings.has(`job:${state}`) && (isKnown || Date.parse(endedAt) > Date.parse(lastAt))
        ? [{ name: `job:${state}`, at: endedAt, payload }]
        : [];
    })
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** `12:03:04 job:completed ledger.repair 0190… 350 ms` (UTC) */
function eventLine({ name, at, payload }: StreamedEvent): string {
  const { name: jobName, job_id: jobId, done, total, duration_ms: durationMs, reason } = payload;
  const amount = typeof done === 'number' ? `${done}${typeof total === 'number' ? ` of ${total}` : ''}` : '';
  const duration = typeof durationMs === 'number' ? formatDuration(durationMs) : '';
  const parts = [at.slice(11, 19), name.padEnd(12), jobName, jobId, amount, duration, reason];
  return printable(parts.filter((part) => typeof part === 'string' && part !== '').join(' '));
}
