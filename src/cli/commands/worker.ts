// headworks worker: runs background jobs only, beside servers on the same Postgres and Redis.
import type { Command } from 'commander';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { addServerFlags } from '../session.ts';
import { runServer } from './run-server.ts';

export function register(command: Command, context: CliContext): void {
  command.addHelpText('after', '\nNeeds DATABASE_URL and REDIS_URL, the same as the servers.');
  addServerFlags(command);
  examples(command, ['DATABASE_URL=postgres://… REDIS_URL=redis://… headworks worker']);
  action(context, command, (session) =>
    runServer(session, {
      role: 'worker',
      config: session.config(),
      welcome: ({ url }) => {
        session.out.line(`Headworks ${session.io.version} is running background jobs.`);
        session.out.facts([['health', `${url}/readyz`]]);
        session.out.line('Ctrl-C stops it.');
      },
    }),
  );
}
