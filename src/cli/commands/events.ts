// headworks events, graph: events extracted from documents, and their graph.
import { callApi } from '../../api/client.ts';
import { eventsApi, graphApi } from '../../api/knowledge.ts';
import { CoreError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { exampleId } from '../command.ts';
import { commandFor } from '../derive.ts';
import { exitCodes } from '../exit-codes.ts';
import { followWithProgress } from '../follow-job.ts';
import { printable } from '../output.ts';

export const commands = { events: registerEvents, graph: registerGraph };

function registerEvents(group: CliCommand): void {
  commandFor(group, eventsApi.list, {
    name: 'list',
    isDefault: true,
    flags: { limit: { default: 50 } },
    examples: ['headworks events list --category Commitment --json'],
    print: ({ out }, { events, next }) => {
      out.list(events, 'There are no such events.', [
        'id',
        'category',
        ['when', ({ event_time }) => event_time?.slice(0, 10) ?? null],
        ['actors', ({ actors }) => actors.map(({ name }) => name).join(', ') || null],
        'narrative',
      ]);
      out.nextPage(next);
    },
  });

  commandFor(group, eventsApi.get, {
    name: 'get',
    examples: [`headworks events get ${exampleId}`],
    print: ({ out }, { evidence, actors, subjects, ...event }) => {
      out.fields(event, {
        actors: actors.map(({ name, role }) => `${name} (${role})`),
        subjects: subjects.map(({ name }) => name),
      });
      for (const { quote } of evidence) out.line(printable(`  “${quote}”`));
    },
  });
}

function registerGraph(group: CliCommand): void {
  commandFor(group, graphApi.get, {
    name: 'status',
    isDefault: true,
    description: 'get the state of the graph (GRAPH_BACKEND); exits with 4 if it is unavailable',
    examples: ['headworks graph status --json'],
    print: ({ out }, status) => out.fields(status),
    exitCode: ({ state }) => (state === 'unavailable' ? exitCodes.incomplete : exitCodes.ok),
  });

  registerRebuild(group);
}

function registerRebuild(group: CliCommand): void {
  const command = group
    .command('rebuild')
    .description('rebuild the graph from the tables; the old one is used until the new one is complete')
    .option('--no-wait', 'return at once');
  command.examples(['headworks graph rebuild', 'headworks graph rebuild --no-wait --json']);
  command.run<{ wait: boolean }>(async (session, { wait }) =>
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
