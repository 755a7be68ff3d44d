// headworks spaces: what belongs together, and whose it is.
import type { Command } from 'commander';
import type { Space, Spaces } from '../../api/spaces.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { humanMoment } from '../output.ts';
import { knowledgePath } from './knowledge-space.ts';

const own = `${knowledgePath}/spaces`;
const whose = ['--organization <organization>', 'id or name; default: spaces of the server'] as const;

export function registerSpaces(program: Command, host: CommandHost): void {
  const group = program
    .command('spaces')
    .description('what knowledge is kept in: one space sees nothing of another');
  examples(group, ['headworks spaces', 'headworks spaces create notizen --language german']);
  registerList(group, host);
  registerAdd(group, host);
  registerRemove(group, host);
}

interface OwnerOption {
  readonly organization?: string;
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list spaces')
    .option('--organization <organization>', 'only of this one: its id or its name');
  examples(command, ['headworks spaces list --json']);
  act<OwnerOption>(host, command, async (session, { organization }) => {
    const { out, io } = session;
    const answer = await callServer<Spaces>(session, 'GET', own, { query: { organization } });
    if (out.isJson) out.json(answer);
    else if (answer.spaces.length === 0)
      out.line('There are no spaces yet; the first "headworks ingest" makes one.');
    else
      out.table(
        ['NAME', 'OF', 'LANGUAGE', 'CREATED'],
        answer.spaces.map((each) => [
          each.name,
          each.organization_id ?? '(server)',
          each.language,
          humanMoment(each.created_at, io.clock.now()),
        ]),
      );
    return exitCodes.ok;
  });
}

function registerAdd(group: Command, host: CommandHost): void {
  const command = group
    .command('create')
    .argument('<name>', 'letters, digits, "-", "_" and "."')
    .description('make a space')
    .option('--language <configuration>', 'a text search configuration of Postgres; default: english')
    .option(...whose);
  examples(command, ['headworks spaces create bi', 'headworks spaces create notizen --language german']);
  act<OwnerOption & { language?: string }>(host, command, async (session, options, [name = '']) => {
    const { language, organization } = options;
    const body = {
      name,
      ...(language === undefined ? {} : { language }),
      ...(organization === undefined ? {} : { organization }),
    };
    const added = await callServer<Space>(session, 'POST', own, { body });
    if (session.out.isJson) session.out.json(added);
    else session.out.line(`Space ${added.name} is made.`);
    return exitCodes.ok;
  });
}

function registerRemove(group: Command, host: CommandHost): void {
  const command = group
    .command('delete')
    .argument('<name>')
    .description('remove a space with everything in it')
    .option('--force', 'do not ask')
    .option(...whose);
  examples(command, ['headworks spaces delete bi --force']);
  act<OwnerOption & { force?: boolean }>(host, command, async (session, options, [name = '']) => {
    const { out } = session;
    const question = `Remove the space ${name} with all documents, events and entities in it?`;
    if (options.force !== true && !(await confirm(session, question))) {
      out.line('Nothing was removed.');
      return exitCodes.error;
    }
    const { organization } = options;
    await callServer(session, 'DELETE', `${own}/${encodeURIComponent(name)}`, { query: { organization } });
    if (out.isJson) out.json({ removed: name });
    else out.line(`Space ${name} is removed.`);
    return exitCodes.ok;
  });
}
