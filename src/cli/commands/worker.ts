// headworks worker: runs jobs only, beside servers that share the same Postgres and Redis.
import type { Command } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { addServerFlags } from '../session.ts';
import { runServer } from './run-server.ts';

export function registerWorker(program: Command, host: CommandHost): void {
  const command = program
    .command('worker')
    .description('run background jobs only, on one more machine; needs DATABASE_URL and REDIS_URL');
  addServerFlags(command);
  examples(command, ['DATABASE_URL=postgres://… REDIS_URL=redis://… headworks worker']);
  act(host, command, async (session) => {
    return runServer(session, {
      role: 'worker',
      config: session.config(),
      welcome: (server) => {
        session.out.line(`Headworks ${session.io.version} works on jobs.`);
        if (server.url !== null) session.out.facts([['health', `${server.url}/readyz`]]);
        session.out.line('Ctrl-C stops it.');
      },
    });
  });
}
