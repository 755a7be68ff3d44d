// headworks sources: manage sources that the server extracts, and their runs.
import type { ApiInput } from '../../api/client.ts';
import { callApi } from '../../api/client.ts';
import type { ExtractionRun } from '../../api/extraction.ts';
import { runsApi, sourcesApi } from '../../api/extraction.ts';
import { CoreError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { readYamlFile } from '../command.ts';
import type { CallContext, CommandInput } from '../derive.ts';
import { commandFor } from '../derive.ts';

const sourceArgument = { id: ['source', 'name of the source'] } as const;

export function register(group: CliCommand): void {
  commandFor(group, sourcesApi.list, {
    name: 'list',
    isDefault: true,
    examples: ['headworks sources list --json'],
    print: ({ out }, { sources }) =>
      out.list(sources, 'There are no sources. Register one with "headworks sources create FILE".', [
        'name',
        'kind',
        [
          'schedule',
          ({ schedule, is_active: isActive }) =>
            schedule === null || isActive ? schedule : `${schedule} (disabled)`,
        ],
        'next_run_at',
        ['vault', ({ vault }) => vault ?? ''],
      ]),
  });

  const create = group
    .command('create')
    .argument('<file>', 'YAML file with name, kind, settings, options and schedule')
    .description('register a source');
  create.examples(['headworks sources create acme.yaml']);
  create.run(async (session, _options, [file = '']) => {
    const body = (await readYamlFile(session, file)) as ApiInput<'POST /api/v1/extraction/sources'>['body'];
    const source = await session.call('POST /api/v1/extraction/sources', { body });
    if (session.out.isJson) session.out.json(source);
    else session.out.line(`Source ${source.name} is registered.`);
  });

  commandFor(group, sourcesApi.delete, {
    name: 'delete',
    description: 'delete a source; its vault and the list of its runs are kept',
    arguments: sourceArgument,
    examples: ['headworks sources delete acme', 'headworks sources delete acme --force'],
    resolve: resolveSource,
    confirm: (_input, name) => `Delete the source ${name}? Its vault and the list of its runs are kept.`,
    print: ({ out }, _none, { subject }) => out.line(`Source ${subject} is deleted.`),
  });

  commandFor(group, runsApi.start, {
    name: 'run',
    description: 'start a run of a source; it resumes an interrupted run',
    arguments: sourceArgument,
    flags: { fresh: { conflicts: ['retry_failed'] } },
    examples: ['headworks sources run acme', 'headworks sources run acme --retry-failed'],
    resolve: resolveSource,
    print: ({ out }, { id }, { client }) =>
      out.line(
        client.isOwnServer
          ? `Run ${id} is queued until a server runs. Start one with "headworks serve".`
          : `Run ${id} is started. "headworks sources runs" shows its progress.`,
      ),
  });

  commandFor(group, runsApi.list, {
    name: 'runs',
    arguments: { source: ['source', 'only runs of this source'] },
    flags: { limit: { default: 20 } },
    examples: ['headworks sources runs', 'headworks sources runs acme --json'],
    print: ({ out }, { runs, next }) => {
      out.list(runs, 'There are no such runs.', [
        'id',
        'source',
        'origin',
        'state',
        'started_at',
        ['items', ({ types }: ExtractionRun) => types.reduce((sum, { items }) => sum + items, 0)],
        'calls',
        ['note', ({ message }) => message ?? ''],
      ]);
      out.nextPage(next);
    },
  });
}

async function resolveSource({ params }: Pick<CommandInput, 'params'>, { client }: CallContext) {
  const { sources } = await callApi(client, 'GET /api/v1/extraction/sources');
  const name = String(params['id']);
  const source = sources.find((each) => each.name === name);
  if (source) return { params: { id: source.id }, subject: name };
  const known = sources.map((each) => each.name).join(', ') || 'none';
  throw new CoreError('NOT_FOUND', `There is no source ${name}. Registered: ${known}.`);
}
