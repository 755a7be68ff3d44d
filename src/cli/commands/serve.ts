// headworks serve, worker, dashboard: run a server, and get a link to its dashboard.
import { join } from 'node:path';
import { callApi } from '../../api/client.ts';
import type { StartServerOptions } from '../../app/index.ts';
import { logFormat } from '../../app/options.ts';
import type { Config } from '../../config/index.ts';
import { CoreError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { interruptExitCode, untilInterrupted } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { RunningServer } from '../io.ts';
import type { CliSession } from '../session.ts';
import { addServerFlags } from '../session.ts';

export const commands = { serve: registerServe, worker: registerWorker, dashboard: registerDashboard };

function registerServe(command: CliCommand): void {
  addServerFlags(command, { without: [] });
  command.examples([
    'headworks serve',
    'headworks serve --port 0 --json',
    'headworks serve --processes auto',
    'DATABASE_URL=postgres://… REDIS_URL=redis://… headworks serve --host 0.0.0.0',
  ]);
  command.run(async (session) => {
    const { out, io } = session;
    const config = session.config();
    return runServer(session, {
      role: 'serve',
      config,
      printReady: (server) => {
        out.line(`Headworks ${io.version} is ready.`);
        out.facts([
          ['address', server.url],
          ['dashboard', `${server.url}/dashboard/ ("headworks dashboard" prints a link that logs in)`],
          ['API docs', `${server.url}/docs`],
          [
            'state',
            config.state.databaseUrl === null ? `embedded, in ${config.data.folder}` : 'Postgres server',
          ],
          ['admin token', adminTokenHint(config, server)],
        ]);
        out.line('Ctrl-C stops it.');
      },
    });
  });
}

/** Where the admin token is; the token itself only if it was generated just now. */
function adminTokenHint(config: Config, server: RunningServer): string {
  if (config.server.adminToken !== null) return 'as configured (headworks config shows where)';
  const file = join(config.data.folder, 'admin-token');
  return server.newAdminToken === null
    ? `in ${file}`
    : `${server.newAdminToken} (shown only this once; kept in ${file})`;
}

function registerWorker(command: CliCommand): void {
  command.addHelpText('after', '\nNeeds DATABASE_URL and REDIS_URL, the same as the servers.');
  addServerFlags(command, { defaults: { port: 'any free port' } });
  command.examples(['DATABASE_URL=postgres://… REDIS_URL=redis://… headworks worker']);
  command.run((session) =>
    runServer(session, {
      role: 'worker',
      config: session.config(),
      printReady: ({ url }) => {
        session.out.line(`Headworks ${session.io.version} is running background jobs.`);
        session.out.facts([['health', `${url}/readyz`]]);
        session.out.line('Ctrl-C stops it.');
      },
    }),
  );
}

function registerDashboard(command: CliCommand): void {
  command.addHelpText('after', '\nThe link works once, within ten minutes; the session lasts 12 hours.');
  command.examples(['headworks dashboard', 'open "$(headworks dashboard --json | jq -r .url)"']);
  command.run((session) =>
    session.withClient(async (client) => {
      if (client.isOwnServer)
        throw new CoreError('SERVER_UNREACHABLE', 'No server is running. Start one with "headworks serve".');
      const link = await callApi(client, 'POST /api/v1/dashboard/login-links');
      const url = client.url + link.path;
      if (session.out.isJson) session.out.json({ url, expires_at: link.expires_at });
      else session.out.line(url);
    }),
  );
}

export interface ServerRun {
  readonly role: StartServerOptions['role'];
  readonly config: Config;
  /** Environment with keys and secrets; default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Runs before the ready message; its result is part of the JSON output. */
  readonly prepare?: (server: RunningServer) => Promise<object>;
  /** Prints the ready message for a person. */
  readonly printReady: (server: RunningServer) => void;
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
  if (prepared && out.isJson) out.jsonLine({ ...readyMessage(run, server), ...prepared });
  else if (prepared) run.printReady(server);
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

function readyMessage({ role, config }: ServerRun, { url, newAdminToken }: RunningServer): object {
  return {
    state: 'ready',
    role,
    url,
    docs: `${url}/docs`,
    data_folder: config.data.folder,
    ...(newAdminToken === null ? {} : { admin_token: newAdminToken }),
  };
}
