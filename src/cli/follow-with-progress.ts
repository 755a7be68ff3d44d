// Waits for a job with a bar to look at; the job goes on when the one who looks goes away.
import type { Job } from '../api/jobs.ts';
import type { HeadworksClient } from '../app/client/session.ts';
import { followJob } from './follow-job.ts';
import { startProgress } from './progress.ts';
import type { CliSession } from './session.ts';

/** `title`: what is being done; `what`: what goes on in the server when this command is stopped. */
export async function followWithProgress(
  session: CliSession,
  client: HeadworksClient,
  jobId: string,
  { title, what }: { readonly title: string; readonly what: string },
): Promise<Job> {
  const { io, out } = session;
  const progress = startProgress(session, title);
  try {
    return await followJob(client, jobId, {
      clock: io.clock,
      signal: io.signal,
      onChange: (job) => {
        if (job.progress === null) return;
        const { done, total, message } = job.progress;
        progress.show({ done, total, message: message ?? '' });
      },
    });
  } finally {
    progress.end();
    if (io.signal.aborted && !client.isOwnServer)
      out.note(`${what} goes on in the server: ${session.commandLine(`jobs watch ${jobId}`)}`);
  }
}
