// What serve, worker and demo have in common: start, say so, run until told to stop, drain.
import type { Config } from '../../config/index.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { RunningServer, StartRole } from '../ports.ts';
import { Interrupt } from '../ports.ts';
import type { CliSession } from '../session.ts';

export interface ServerRun {
  readonly role: StartRole;
  readonly config: Config;
  /** Tells a person what there is now. */
  readonly welcome: (server: RunningServer) => void;
}

/** Runs until the signal aborts or the server stops by itself. Exit 0 after SIGTERM, 130 after Ctrl-C. */
export async function runServer(session: CliSession, run: ServerRun): Promise<ExitCode> {
  const { io, out } = session;
  const server = await io.app.startServer(run.config, {
    role: run.role,
    announce: (sentence) => out.note(sentence),
    signal: io.signal,
  });
  if (server.newAdminToken !== null) session.redactor.add(server.newAdminToken);
  if (out.isJson) out.jsonLine(readyAnswer(run, server));
  else run.welcome(server);
  await Promise.race([aborted(io.signal), server.stopped]);
  if (io.signal.aborted) out.note('Stopping; Ctrl-C again stops at once.');
  await server.stop();
  await server.stopped;
  if (out.isJson) out.jsonLine({ state: 'stopped' });
  else out.note('Stopped.');
  const reason: unknown = io.signal.reason;
  return reason instanceof Interrupt && reason.by === 'SIGINT' ? exitCodes.interrupted : exitCodes.ok;
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
