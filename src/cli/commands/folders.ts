// headworks folders: folders of the server's machine that are read into spaces again and again.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CreatedFolder, FolderResult, Folders } from '../../api/spaces.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted, humanMoment } from '../output.ts';
import type { CliSession } from '../session.ts';
import type { SpaceOption } from './knowledge-space.ts';
import { addSpaceOptions, knowledgePath, spaceFieldsOf } from './knowledge-space.ts';

const own = `${knowledgePath}/folders`;
const pathOf = (id: string): string => `${own}/${encodeURIComponent(id)}`;

export function registerFolders(program: Command, host: CommandHost): void {
  const group = program
    .command('folders')
    .description('folders of the server’s machine that are read again and again: watched, or on a schedule');
  examples(group, [
    'headworks folders',
    'headworks folders create /srv/notes --schedule "0 3 * * *"',
    'headworks folders scan 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  ]);
  registerList(group, host);
  registerAdd(group, host);
  registerScan(group, host);
  registerRemove(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group.command('list', { isDefault: true }).description('all of them, or those of one space'),
  );
  examples(command, ['headworks folders list', 'headworks folders list --space bi --json']);
  act<SpaceOption>(host, command, async (session, options) => {
    const { out } = session;
    const named = spaceFieldsOf(options);
    const query = Object.keys(named).length === 0 ? { all: true } : named;
    const answer = await callServer<Folders>(session, 'GET', own, { query });
    if (out.isJson) out.json(answer);
    else if (answer.folders.length === 0)
      out.line('No folder is read again and again. "headworks folders create PATH" does it.');
    else showFolders(session, answer.folders);
    return exitCodes.ok;
  });
}

function showFolders({ out, io }: CliSession, folders: Folders['folders']): void {
  out.table(
    ['ID', 'PATH', 'INTO', 'WHEN', 'LAST READ', 'FAILED', 'MISSING'],
    folders.map((each) => [
      each.id,
      each.path,
      each.organization_id === null ? each.space : `${each.space} of ${each.organization_id}`,
      each.cron ?? 'watched',
      humanMoment(each.last_run_at, io.clock.now()),
      String(each.last_result?.failed ?? 0),
      each.delete_missing ? 'are removed' : String(each.last_result?.missing_count ?? 0),
    ]),
  );
  for (const { last_result } of folders) if (last_result) showTroubles(out, last_result);
}

/** What is wrong with files, and which went. */
function showTroubles(out: CliSession['out'], { problems, missing, missing_count }: FolderResult): void {
  for (const problem of problems) out.line(problem);
  for (const { path, artifact_id } of missing)
    out.line(`${path} is gone; its document stays: headworks artifacts delete ${artifact_id}`);
  if (missing_count > missing.length) out.line(`… and ${missing_count - missing.length} more.`);
}

export interface AddOptions extends SpaceOption {
  readonly schedule?: string;
  readonly removeMissing?: boolean;
}

function registerAdd(group: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    group
      .command('create')
      .argument('<paths...>', 'folders on the machine of the server')
      .description('read them from now on; one that is read already gets the new schedule'),
  )
    .option('--schedule <cron>', 'when (five fields, UTC); without: it is watched, every few seconds')
    .option('--remove-missing', 'documents go when their files did; never while the folder is empty')
    .option('--no-remove-missing', 'they stay, and are listed (so from the beginning)');
  examples(command, [
    'headworks folders create /srv/notes',
    'headworks folders create /srv/notes --schedule "0 3 * * *" --space bi --remove-missing',
  ]);
  act<AddOptions>(host, command, (session, options, paths) => addFolders(session, options, paths));
}

/** Says of each whether it is new, or read otherwise than before. */
export async function addFolders(
  session: CliSession,
  options: AddOptions,
  paths: readonly string[],
): Promise<ExitCode> {
  const { out, io } = session;
  const { schedule, removeMissing } = options;
  const folders: CreatedFolder[] = [];
  for (const path of paths) {
    const body = {
      path: resolve(io.cwd, path),
      ...(schedule === undefined ? {} : { cron: schedule }),
      ...(removeMissing === undefined ? {} : { delete_missing: removeMissing }),
      ...spaceFieldsOf(options),
    };
    folders.push(await callServer<CreatedFolder>(session, 'POST', own, { body }));
  }
  if (out.isJson) out.json({ folders });
  else for (const folder of folders) out.line(sentenceOf(folder));
  return exitCodes.ok;
}

function sentenceOf({ path, cron, outcome, delete_missing: deleteMissing }: CreatedFolder): string {
  const when = cron === null ? 'it is watched' : `it is read by the schedule ${cron} (UTC)`;
  const went = deleteMissing ? ' Documents go when their files did.' : '';
  return outcome === 'added'
    ? `The server reads ${path} from now on: ${when}.${went}`
    : `The server read ${path} already; now ${when}.${went}`;
}

function registerScan(group: Command, host: CommandHost): void {
  const command = group
    .command('scan')
    .argument('<id>')
    .description('read a folder now, files that failed before included')
    .option(
      '--remove-missing',
      'remove documents whose files went, however many; not while the folder is empty',
    );
  examples(command, ['headworks folders scan 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b --remove-missing']);
  act<{ readonly removeMissing?: boolean }>(host, command, async (session, options, [id = '']) => {
    const { out } = session;
    const body = { delete_missing: options.removeMissing === true };
    const result = await callServer<FolderResult>(session, 'POST', `${pathOf(id)}/scan`, { body });
    if (out.isJson) out.json(result);
    else {
      const { added, revised, unchanged, deleted: removed } = result;
      const went = removed === 0 ? '' : `, ${counted(removed, 'document')} of files that went removed`;
      out.line(`${added} added, ${revised} revised, ${unchanged} unchanged${went}.`);
      showTroubles(out, result);
    }
    return result.failed > 0 ? exitCodes.incomplete : exitCodes.ok;
  });
}

function registerRemove(group: Command, host: CommandHost): void {
  const command = group
    .command('delete')
    .argument('<id>')
    .description('read a folder no longer; its documents stay');
  examples(command, ['headworks folders delete 0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b']);
  act<object>(host, command, async (session, _, [id = '']) => {
    await callServer(session, 'DELETE', pathOf(id));
    if (session.out.isJson) session.out.json({ removed: id });
    else session.out.line('The folder is read no longer; what was read stays.');
    return exitCodes.ok;
  });
}
