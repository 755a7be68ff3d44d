// headworks dashboard: prints a link that logs a browser in to the dashboard.
import type { Command } from 'commander';
import { callApi } from '../../api/client.ts';
import { CoreError } from '../../core/index.ts';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';

export function register(command: Command, context: CliContext): void {
  command.addHelpText('after', '\nThe link works once, within ten minutes; the session lasts 12 hours.');
  examples(command, ['headworks dashboard', 'open "$(headworks dashboard --json | jq -r .url)"']);
  action(context, command, (session) =>
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
