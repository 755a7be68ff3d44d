// headworks jobs watch: one job until it ends, or all of them live until Ctrl-C.
import type { StreamedEvent } from '../../api/server.ts';
import type { Job } from '../../api/jobs.ts';
import type { Command } from 'commander';
import type { HeadworksClient } from '../../app/client/session.ts';
import { linkSignals } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { followJob } from '../follow-job.ts';
import { humanDuration } from '../human-time.ts';
import { startProgress } from '../progress.ts';
import type { CliSession } from '../session.ts';
import { printable } from '../table.ts';

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
