// headworks spaces, folders: knowledge spaces, and folders on the machine of the server that are ingested repeatedly.
import { resolve } from 'node:path';
import { callApi } from '../../api/client.ts';
import type { CreatedFolder, FolderResult } from '../../api/spaces.ts';
import { foldersApi, spacesApi } from '../../api/spaces.ts';
import { shellWord } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { exampleId } from '../command.ts';
import { commandFor } from '../derive.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { counted } from '../output.ts';
import type { CliSession } from '../session.ts';

export const commands = { spaces: registerSpaces, folders: registerFolders };

function registerSpaces(group: CliCommand): void {
  commandFor(group, spacesApi.list, {
    name: 'list',
    isDefault: true,
    description: 'list spaces of the server and of all organizations, or of one',
    flags: { organization: { description: 'id or name of the organization' } },
    examples: ['headworks spaces list --json', 'headworks spaces list --organization acme-corp'],
    print: ({ out }, { spaces }) =>
      out.list(spaces, 'There are no spaces. The first "headworks ingest" creates one.', [
        'name',
        ['organization', ({ organization_id }) => organization_id ?? '(server)'],
        'language',
        'created_at',
      ]),
  });

  commandFor(group, spacesApi.create, {
    name: 'create',
    arguments: { name: ['name', 'letters, digits, "-", "_" and "."'] },
    examples: ['headworks spaces create bi', 'headworks spaces create notizen --language german'],
    print: ({ out }, { name }) => out.line(`Space ${name} is created.`),
  });

  commandFor(group, spacesApi.delete, {
    name: 'delete',
    arguments: { space: ['name', 'name of the space'] },
    examples: ['headworks spaces delete bi --force'],
    confirm: ({ params }) =>
      `Delete the space ${params['space']} with all its documents, events and entities?`,
    print: ({ out }, _none, { params }) => out.line(`Space ${params['space']} is deleted.`),
  });
}

function registerFolders(group: CliCommand): void {
  commandFor(group, foldersApi.list, {
    name: 'list',
    isDefault: true,
    description: 'list folders of all spaces, or of one',
    flags: { all: { isHidden: true } },
    examples: ['headworks folders list', 'headworks folders list --space bi --json'],
    prepare: ({ query }) => (Object.keys(query).length === 0 ? { query: { all: 'true' as const } } : {}),
    print: ({ out }, { folders }) => {
      out.list(folders, 'There are no folders. Create one with "headworks folders create PATH".', [
        'id',
        'path',
        ['space', ({ space, organization_id: owner }) => (owner === null ? space : `${space} of ${owner}`)],
        ['schedule', ({ schedule }) => schedule ?? 'watched'],
        'last_run_at',
        ['failed', ({ last_result }) => last_result?.failed ?? 0],
        ['missing', (each) => (each.delete_missing ? 'deleted' : (each.last_result?.missing_count ?? 0))],
      ]);
      for (const { last_result } of folders) if (last_result) printProblems(out, last_result);
    },
  });

  const create = addSpaceOptions(
    group
      .command('create')
      .argument('<paths...>', "folders on the server's machine")
      .description('ingest folders repeatedly; updates the schedule of a folder that is already registered'),
  )
    .option('--schedule <cron>', 'when to scan: five fields, UTC; default: watch for changes')
    .option(
      '--delete-missing',
      'delete documents whose files are gone; not while the folder is empty or most files are gone at once',
    )
    .option('--no-delete-missing', 'keep and list them (the default)');
  create.examples([
    'headworks folders create /srv/notes',
    'headworks folders create /srv/notes --schedule "0 3 * * *" --space bi --delete-missing',
  ]);
  create.run<FolderOptions>(createFolders);

  commandFor(group, foldersApi.scan, {
    name: 'scan',
    examples: [`headworks folders scan ${exampleId} --delete-missing`],
    print: ({ out }, result) => {
      const { added, revised, unchanged, deleted } = result;
      const gone = deleted === 0 ? '' : `, ${counted(deleted, 'document')} of missing files deleted`;
      out.line(`${added} added, ${revised} revised, ${unchanged} unchanged${gone}.`);
      printProblems(out, result);
    },
    exitCode: ({ failed }) => (failed > 0 ? exitCodes.incomplete : exitCodes.ok),
  });

  commandFor(group, foldersApi.delete, {
    name: 'delete',
    examples: [`headworks folders delete ${exampleId}`, `headworks folders delete ${exampleId} --force`],
    confirm: ({ params }) => `Stop reading the folder ${params['id']}? Its documents are kept.`,
    print: ({ out }) => out.line('The folder is no longer ingested; its documents are kept.'),
  });
}

function printProblems(out: Output, { problems, missing, missing_count }: FolderResult): void {
  for (const problem of problems) out.line(problem);
  for (const { path, artifact_id } of missing)
    out.line(`${path} is gone; its document is kept: headworks artifacts delete ${artifact_id}`);
  if (missing_count > missing.length) out.line(`… and ${missing_count - missing.length} more.`);
}

export interface FolderOptions extends SpaceOptions {
  readonly schedule?: string;
  readonly deleteMissing?: boolean;
}

export async function createFolders(
  session: CliSession,
  options: FolderOptions,
  paths: readonly string[],
): Promise<void> {
  const { out, io } = session;
  const folders: CreatedFolder[] = [];
  await session.withClient(async (client) => {
    for (const path of paths) {
      const body = {
        path: resolve(io.cwd, path),
        schedule: options.schedule,
        delete_missing: options.deleteMissing,
        ...spaceFieldsOf(options),
      };
      folders.push(await callApi(client, 'POST /api/v1/knowledge/folders', { body }));
    }
  });
  if (out.isJson) out.json({ folders });
  else for (const folder of folders) out.line(createdText(folder));
}

function createdText({ path, schedule, outcome, delete_missing: deleteMissing }: CreatedFolder): string {
  const when = schedule === null ? 'watched for changes' : `scanned on the schedule ${schedule} (UTC)`;
  const done =
    outcome === 'created' ? `${path} is created` : `${path} was already registered; its schedule is updated`;
  return `${done}: ${when}.${deleteMissing ? ' Documents are deleted when their files are gone.' : ''}`;
}

export interface SpaceOptions {
  readonly space?: string;
  readonly organization?: string;
}

export function addSpaceOptions(command: CliCommand): CliCommand {
  return command
    .option('--space <name>', 'name of the space; default: "default"')
    .option(
      '--organization <organization>',
      'id or name of the organization that owns the space; default: the server itself',
    );
}

/** The fields that select a space, for a query or a body. */
export const spaceFieldsOf = ({ space, organization }: SpaceOptions): SpaceOptions => ({
  space,
  organization,
});

/** The flags that select a space, for a command to paste: begins with a space, or is empty. */
export const spaceWords = (options: SpaceOptions): string =>
  Object.entries(spaceFieldsOf(options))
    .map(([flag, value]) => (value === undefined ? '' : ` --${flag} ${shellWord(value)}`))
    .join('');
