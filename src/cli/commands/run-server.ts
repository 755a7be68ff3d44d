// What serve, worker and demo have in common: start, say so, run until told to stop, drain.
import { logFormat } from '../../app/options.ts';
import type { Config } from '../../config/index.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { RunningServer, StartRole } from '../ports.ts';
import { Interrupt } from '../ports.ts';
import type { CliSession } from '../session.ts';

export interface ServerRun {
  readonly role: StartRole;
  readonly config: Config;
  /** Where keys and secrets are; default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Runs before the ready message; its result is part of the JSON output. */
  readonly prepare?: (server: RunningServer) => Promise<object>;
  /** Tells a person what there is now. */
  readonly welcome: (server: RunningServer) => void;
}

/** Runs until the signal aborts or the server stops by itself. Exit 0 after SIGTERM, 130 after Ctrl-C. */
export async function runServer(session: CliSession, run: ServerRun): Promise<ExitCode> {
  const { io, out } = session;
  const areLogsJson = logFormat(run.config, io.isTty.stderr) === 'json';
  const server = await io.app.startServer(run.config, {
    role: run.role,
    announce: (sentence) => noteBesideLogs(session, run.config, sentence),
    signal: io.signal,
    ...(run.env ? { env: run.env } : {}),
  });
  if (server.newAdminToken !== null) session.redactor.add(server.newAdminToken);
  const prepared = await prepare(session, run, server);
  if (prepared && out.isJson) out.jsonLine({ ...readyAnswer(run, server), ...prepared });
  else if (prepared) run.welcome(server);
  await Promise.race([aborted(io.signal), server.stopped]);
  // In JSON the server's own log says when it stops and when it has stopped.
  if (io.signal.aborted && !areLogsJson) out.note('Stopping; Ctrl-C again stops at once.');
  await server.stop();
  await server.stopped;
  if (out.isJson) out.jsonLine({ state: 'stopped' });
  else if (!areLogsJson) out.note('Stopped.');
  const reason: unknown = io.signal.reason;
  return reason instanceof Interrupt && reason.by === 'SIGINT' ? exitCodes.interrupted : exitCodes.ok;
}

/** Null when it was stopped meanwhile. A server that fails to prepare is stopped. */
async function prepare({ io }: CliSession, run: ServerRun, server: RunningServer): Promise<object | null> {
  try {
    return (await run.prepare?.(server)) ?? {};
  } catch (error) {
    if (io.signal.aborted) return null;
    await server.stop();
    throw error;
  }
}

/** For people, beside the log of a server: where that is JSON, a line of it. */
export function noteBesideLogs({ io, out }: CliSession, config: Config, text: string): void {
  if (out.isJson) return;
  if (logFormat(config, io.isTty.stderr) === 'pretty') return out.note(text);
  const time = new Date(io.clock.now()).toISOString();
  out.note(JSON.stringify({ level: 'info', time, msg: text }));
}

function readyAnswer({ role, config }: ServerRun, { url, newAdminToken }: RunningServer): object {
  return {
    state: 'ready',
    role,
    url,
    docs: url === null ? null : `${url}/docs`,
    data_folder: config.data.folder,
    ...(newAdminToken === null ? {} : { admin_token: newAdminToken }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
