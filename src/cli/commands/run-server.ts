// Runs a server until it is stopped; shared by serve, worker and demo.
import type { StartServerOptions } from '../../app/index.ts';
import { logFormat } from '../../app/options.ts';
import type { Config } from '../../config/index.ts';
import { interruptExitCode, untilInterrupted } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { RunningServer } from '../io.ts';
import type { CliSession } from '../session.ts';

export interface ServerRun {
  readonly role: StartServerOptions['role'];
  readonly config: Config;
  /** Environment with keys and secrets; default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Runs before the ready message; its result is part of the JSON output. */
  readonly prepare?: (server: RunningServer) => Promise<object>;
  /** Prints the ready message for a person. */
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
    env: run.env,
  });
  if (server.newAdminToken !== null) session.redactor.add(server.newAdminToken);
  const prepared = await prepare(session, run, server);
  if (prepared && out.isJson) out.jsonLine({ ...readyAnswer(run, server), ...prepared });
  else if (prepared) run.welcome(server);
  await Promise.race([untilInterrupted(io), server.stopped]);
  // With --json the server's own log reports that it stops and has stopped.
  if (io.signal.aborted && !areLogsJson) out.note('Stopping; Ctrl-C again stops at once.');
  await server.stop();
  await server.stopped;
  if (out.isJson) out.jsonLine({ state: 'stopped' });
  else if (!areLogsJson) out.note('Stopped.');
  return interruptExitCode(io.signal);
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

/** A note for a person on stderr; as a JSON line where the log of the server is JSON. */
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
    docs: `${url}/docs`,
    data_folder: config.data.folder,
    ...(newAdminToken === null ? {} : { admin_token: newAdminToken }),
  };
}
