// headworks graph: status, related entities, rebuild.
import type { Command } from 'commander';
import type { RelatedEntities } from '../../api/entities.ts';
import type { Jobs } from '../../api/jobs.ts';
import type { GraphRebuildRequested, GraphStatus } from '../../api/knowledge.ts';
import { CoreError } from '../../core/index.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { followWithProgress } from '../follow-job.ts';
import { wholeNumber } from '../number-argument.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf } from './knowledge-space.ts';

const own = `${knowledgePath}/graph`;

export function registerGraph(program: Command, host: CommandHost): void {
  const group = program.command('graph').description('the graph of entities and events (GRAPH_BACKEND)');
  examples(group, ['headworks graph', 'headworks graph rebuild', 'headworks graph around <entity>']);
  registerStatus(group, host);
  registerRebuild(group, host);
  registerAround(group, host);
}

function registerStatus(group: Command, host: CommandHost): void {
  const command = group
    .command('status', { isDefault: true })
    .description('where the graph lives, and whether it can be used')
    .addHelpText('after', '\nExits with 4 if it is unavailable.');
  examples(command, ['headworks graph status --json']);
  act(host, command, async (session) => {
    const { out } = session;
    const answer = await callServer<GraphStatus>(session, 'GET', own);
    if (out.isJson) out.json(answer);
    else
      out.facts([
        ['backend', answer.backend],
        ['state', answer.state],
        ...(answer.detail === null ? [] : ([['why', answer.detail]] as const)),
      ]);
    return answer.state === 'unavailable' ? exitCodes.incomplete : exitCodes.ok;
  });
}

function registerRebuild(group: Command, host: CommandHost): void {
  const command = group
    .command('rebuild')
    .description('rebuild the graph from the tables; the old one is used until the new one is complete')
    .option('--no-wait', 'do not wait for it');
  examples(command, ['headworks graph rebuild', 'headworks graph rebuild --no-wait --json']);
  act<{ wait: boolean }>(host, command, async (session, { wait }) =>
    session.withClient(async (client) => {
      const { out, io } = session;
      const { signal } = io;
      const asked = await client.call<GraphRebuildRequested>('POST', `${own}/rebuild`, { signal });
      const query = { name: 'knowledge.graph-rebuild', state: 'queued,running' };
      const running = async () =>
        (await client.call<Jobs>('GET', '/api/v1/jobs', { query, signal })).jobs[0]?.id ?? null;
      const jobId = asked.job_id ?? (await running());
      if (!wait || jobId === null) {
        if (out.isJson) out.json({ job_id: jobId });
        else
          out.line(
            jobId === null
              ? 'It has just been rebuilt.'
              : `It is being rebuilt: headworks jobs watch ${jobId}`,
          );
        return exitCodes.ok;
      }
      const job = await followWithProgress(session, client, jobId, {
        title: 'Rebuilding',
        what: 'The rebuild',
      });
      if (job.state === 'failed')
        throw new CoreError('INTERNAL', `The graph was not rebuilt: ${job.reason ?? 'no reason was given'}`);
      if (out.isJson) out.json(job);
      else
        out.line(
          job.state === 'skipped' ? (job.reason ?? 'There was nothing to do.') : 'The graph is rebuilt.',
        );
      return exitCodes.ok;
    }),
  );
}

function registerAround(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group
      .command('around')
      .argument('<entity>', 'its id; "headworks entities list" shows it')
      .description('what an entity takes part in, and who else does')
      .option('--limit <count>', 'events at most', wholeNumber(1, 200), 50),
  );
  examples(command, ['headworks graph around 01890a5d-ac96-774b-bcce-b302099a8057 --json']);
  act<SpaceOption & { limit: number }>(host, command, async (session, options, [entity = '']) => {
    const { out } = session;
    const answer = await callServer<RelatedEntities>(
      session,
      'GET',
      `${knowledgePath}/entities/${encodeURIComponent(entity)}/related`,
      { query: { limit: options.limit, ...spaceFieldsOf(options) } },
    );
    if (out.isJson) out.json(answer);
    else showAround(out, answer);
    return exitCodes.ok;
  });
}

function showAround(
  out: {
    line(text: string): void;
    table(head: readonly string[], rows: readonly (readonly string[])[]): void;
  },
  { nodes, edges }: RelatedEntities,
): void {
  const labels = new Map(nodes.map(({ id, label }) => [id, label]));
  const [center] = nodes;
  out.line(`${center?.label ?? ''} (${center?.type ?? ''})`);
  if (edges.length === 0) out.line('Nothing lies around it yet.');
  else
    out.table(
      ['FROM', 'EDGE', 'TO'],
      edges.map(({ from, to, kind, role }) => [
        labels.get(from) ?? from,
        role === null ? kind : `${kind} (${role})`,
        labels.get(to) ?? to,
      ]),
    );
}
