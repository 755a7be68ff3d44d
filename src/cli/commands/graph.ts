// headworks graph: show and rebuild the graph of entities and events.
import type { Command } from 'commander';
import { callApi } from '../../api/client.ts';
import { graphApi } from '../../api/knowledge.ts';
import { CoreError } from '../../core/index.ts';
import type { CliContext } from '../command.ts';
import { action, examples } from '../command.ts';
import { commandFor } from '../derive.ts';
import { exitCodes } from '../exit-codes.ts';
import { followWithProgress } from '../follow-job.ts';

export function register(group: Command, context: CliContext): void {
  examples(group, ['headworks graph', 'headworks graph rebuild']);

  commandFor(group, context, graphApi.get, {
    name: 'status',
    isDefault: true,
    description: 'get the state of the graph (GRAPH_BACKEND); exits with 4 if it is unavailable',
    examples: ['headworks graph status --json'],
    print: ({ out }, status) => out.fields(status),
    exitCode: ({ state }) => (state === 'unavailable' ? exitCodes.incomplete : exitCodes.ok),
  });

  registerRebuild(group, context);
}

function registerRebuild(group: Command, context: CliContext): void {
  const command = group
    .command('rebuild')
    .description('rebuild the graph from the tables; the old one is used until the new one is complete')
    .option('--no-wait', 'return at once');
  examples(command, ['headworks graph rebuild', 'headworks graph rebuild --no-wait --json']);
  action<{ wait: boolean }>(context, command, async (session, { wait }) =>
    session.withClient(async (client) => {
      const { out } = session;
      const requested = await callApi(client, 'POST /api/v1/knowledge/graph/rebuild');
      const query = { name: 'knowledge.graph-rebuild', state: 'queued,running' };
      const jobId =
        requested.job_id ?? (await callApi(client, 'GET /api/v1/jobs', { query })).jobs[0]?.id ?? null;
      if (!wait || jobId === null) {
        if (out.isJson) return out.json({ job_id: jobId });
        return out.line(
          jobId === null
            ? 'The graph has just been rebuilt.'
            : `The graph is being rebuilt: headworks jobs watch ${jobId}`,
        );
      }
      const job = await followWithProgress(session, client, jobId, {
        title: 'Rebuilding',
        what: 'The rebuild',
      });
      if (job.state === 'failed')
        throw new CoreError('INTERNAL', `The graph was not rebuilt: ${job.reason ?? 'no reason was given'}`);
      if (out.isJson) return out.json(job);
      const skipped = job.state === 'skipped' ? (job.reason ?? 'There was nothing to do.') : null;
      return out.line(skipped ?? 'The graph is rebuilt.');
    }),
  );
}
