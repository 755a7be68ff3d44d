// headworks serve: runs the server until it is stopped.
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Config } from '../../config/index.ts';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import type { RunningServer } from '../io.ts';
import { addServerFlags } from '../session.ts';
import { runServer } from './run-server.ts';

export function register(command: Command, context: CliContext): void {
  addServerFlags(command);
  examples(command, [
    'headworks serve',
    'headworks serve --port 0 --json',
    'DATABASE_URL=postgres://… REDIS_URL=redis://… headworks serve --host 0.0.0.0',
  ]);
  action(context, command, async (session) => {
    const { out, io } = session;
    const config = session.config();
    return runServer(session, {
      role: 'serve',
      config,
      welcome: (server) => {
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
