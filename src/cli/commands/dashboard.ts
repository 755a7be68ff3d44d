// headworks dashboard: a link that logs your browser in to the running server.
import type { LoginLink } from '../../api/overview.ts';
import type { Command } from 'commander';
import { CoreError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';

export function registerDashboard(program: Command, host: CommandHost): void {
  const command = program
    .command('dashboard')
    .description('print a link that logs your browser in to the dashboard of the running server')
    .addHelpText('after', '\nThe link works once, within ten minutes; the session it begins lasts 12 hours.');
  examples(command, ['headworks dashboard', 'open "$(headworks dashboard --json | jq -r .url)"']);
  act(host, command, (session) =>
    session.withClient(async (client) => {
      if (client.isOwnServer)
        throw new CoreError(
          'SERVER_UNREACHABLE',
          'No server is running here, so there is no dashboard to open. Start one with "headworks serve".',
        );
      const { signal } = session.io;
      const link = await client.call<LoginLink>('POST', '/api/v1/dashboard/login-links', { signal });
      const url = client.url + link.path;
      if (session.out.isJson) session.out.json({ url, expires_at: link.expires_at });
      else session.out.line(url);
      return exitCodes.ok;
    }),
  );
}
