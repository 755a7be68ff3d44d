// headworks serve: runs the server until it is stopped.
import type { Command } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { addServerFlags } from '../session.ts';
import { adminTokenHint } from './admin-token-hint.ts';
import { runServer } from './run-server.ts';

export function registerServe(program: Command, host: CommandHost): void {
  const command = program
    .command('serve')
    .description('run the server: HTTP API, background jobs, live events');
  addServerFlags(command);
  examples(command, [
    'headworks serve',
    'headworks serve --port 0 --json',
    'DATABASE_URL=postgres://… REDIS_URL=redis://… headworks serve --host 0.0.0.0',
  ]);
  act(host, command, async (session) => {
    const { out, io } = session;
    const config = session.config();
    return runServer(session, {
      role: 'serve',
      config,
      welcome: (server) => {
        out.line(`Headworks ${io.version} is ready.`);
        out.facts([
          ['address', String(server.url)],
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
