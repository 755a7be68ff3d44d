// Waits for a job to end, with progress.
import { Presets, SingleBar } from 'cli-progress';
import { callApi } from '../api/client.ts';
import type { Job } from '../api/jobs.ts';
import type { HeadworksClient } from '../app/client/session.ts';
import type { Clock } from '../core/index.ts';
import { HeadworksError } from '../core/index.ts';
import type { BackupProgress } from '../operations/backup/save-backup.ts';
import { printable } from './output.ts';
import type { CliSession } from './session.ts';

const minPollMs = 100;
const maxPollMs = 1_000;
/** How long the server may fail temporarily. */
const retryTimeoutMs = 60_000;

export interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called whenever something changed, and once more when the job has ended. */
  readonly onChange: (job: Job) => void;
}

/** Polls until the job has ended. Temporary failures of the server are retried; others are thrown. */
export async function followJob(client: HeadworksClient, id: string, options: FollowOptions): Promise<Job> {
  const { clock, signal } = options;
  let waitMs = minPollMs;
  let previous = '';
  let respondedAt = clock.monotonic();
  for (;;) {
    signal.throwIfAborted();
    try {
      const job = await callApi(client, 'GET /api/v1/jobs/:id', { params: { id }, signal });
      respondedAt = clock.monotonic();
      const current = JSON.stringify(job);
      if (current !== previous) {
        options.onChange(job);
        waitMs = minPollMs;
      }
      previous = current;
      if (hasEnded(job)) return job;
    } catch (error) {
      const isTemporary = error instanceof HeadworksError && error.isRetryable;
      if (!isTemporary || clock.monotonic() - respondedAt > retryTimeoutMs) throw error;
    }
    await clock.sleep(waitMs, signal);
    waitMs = Math.min(waitMs * 1.5, maxPollMs);
  }
}

function hasEnded(job: Job): boolean {
  return job.state !== 'queued' && job.state !== 'running';
}

/** `title`: label of the progress bar; `what`: what continues in the server when this command is stopped. */
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
      out.note(`${what} continues in the server: ${session.commandLine(`jobs watch ${jobId}`)}`);
  }
}

export interface ProgressStep {
  readonly done: number;
  /** Not known yet: `null`. */
  readonly total: number | null;
  readonly message: string;
}

export interface Progress {
  show(step: ProgressStep): void;
  end(): void;
}

/** Shows the progress of `work`. */
export async function withProgress<T>(
  session: CliSession,
  title: string,
  work: (onProgress: (progress: BackupProgress) => void) => Promise<T>,
): Promise<T> {
  const progress = startProgress(session, title);
  try {
    return await work(({ done, total, at }) => progress.show({ done, total, message: at }));
  } finally {
    progress.end();
  }
}

/** `title`: label of the progress bar. */
export function startProgress(session: CliSession, title: string): Progress {
  return session.out.canDraw ? new Bar(session, title) : new Lines(session, title);
}

class Bar implements Progress {
  readonly #bar: SingleBar;

  constructor({ io }: CliSession, title: string) {
    const format = `${title} {bar} {value}/{total} {message}`;
    this.#bar = new SingleBar(
      { format, stream: io.stderr, hideCursor: true, barsize: 30 },
      Presets.shades_classic,
    );
    this.#bar.start(1, 0, { message: '' });
  }

  show({ done, total, message }: ProgressStep): void {
    this.#bar.setTotal(Math.max(total ?? done + 1, 1));
    this.#bar.update(done, { message: printable(message) });
  }

  end(): void {
    this.#bar.stop();
  }
}

class Lines implements Progress {
  readonly #session: CliSession;
  readonly #title: string;
  #last = '';

  constructor(session: CliSession, title: string) {
    this.#session = session;
    this.#title = title;
  }

  show({ done, total, message }: ProgressStep): void {
    const line = printable(
      `${this.#title}: ${done}${total === null ? '' : ` of ${total}`} ${message}`.trimEnd(),
    );
    if (line !== this.#last) this.#session.out.note(line);
    this.#last = line;
  }

  end(): void {
    this.#last = '';
  }
}
