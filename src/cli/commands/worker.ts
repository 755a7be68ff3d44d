// headworks worker: runs jobs only, beside servers that share the same Postgres and Redis.
import type { Command } from 'commander';
import type { Config } from '../../config/index.ts';
import { CoreError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { addServerFlags } from '../option-flags.ts';
import { runServer } from './run-server.ts';

export function registerWorker(program: Command, host: CommandHost): void {
  const command = program
    .command('worker')
    .description('run background jobs only, on one more machine; needs DATABASE_URL and REDIS_URL');
  addServerFlags(command);
  examples(command, ['DATABASE_URL=postgres://… REDIS_URL=redis://… headworks worker']);
  act(host, command, async (session) => {
    const config = session.config();
    demandSharedStores(config);
    return runServer(session, {
      role: 'worker',
      config,
      welcome: (server) => {
        session.out.line(`Headworks ${session.io.version} works on jobs.`);
        if (server.url !== null) session.out.facts([['health', `${server.url}/readyz`]]);
        session.out.line('Ctrl-C stops it.');
      },
    });
  });
}

/** Without shared stores a worker would find no jobs, and count limits that others count as well. */
function demandSharedStores(config: Config): void {
  const missing = [
    ...(config.state.databaseUrl === null ? ['state.databaseUrl (DATABASE_URL)'] : []),
    ...(config.redis.url === null ? ['redis.url (REDIS_URL)'] : []),
  ];
  if (missing.length > 0)
    throw new CoreError(
      'CONFIG_INVALID',
      `A worker shares its stores with servers; set ${missing.join(' and ')} to the same as theirs. ` +
        'On one machine "headworks serve" alone does the jobs as well.',
    );
}
