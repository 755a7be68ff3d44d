// headworks organizations: who may call deployments.
import type { Deployments } from '../../api/deployments.ts';
import type { Organization, OrganizationKeys, Organizations } from '../../api/organizations.ts';
import type { Command } from 'commander';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { humanMoment } from '../human-time.ts';
import { keyState } from '../key-state.ts';
import { registerOrganizationKeys } from './organization-keys.ts';
import { organizationArgument, organizationPath, organizationsPath } from './organization-path.ts';

export function registerOrganizations(program: Command, host: CommandHost): void {
  const group = program.command('organizations').description('who may call deployments, and their keys');
  examples(group, [
    'headworks organizations add acme-corp',
    'headworks organizations keys create acme-corp --name production',
    'headworks organizations show acme-corp',
  ]);
  registerList(group, host);
  registerAdd(group, host);
  registerShow(group, host);
  registerRename(group, host);
  registerRemove(group, host);
  registerOrganizationKeys(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = group.command('list', { isDefault: true }).description('list organizations');
  examples(command, ['headworks organizations list --json']);
  act(host, command, async (session) => {
    const { out, io } = session;
    const answer = await callServer<Organizations>(session, 'GET', organizationsPath);
    const now = io.clock.now();
    if (out.isJson) out.json(answer);
    else if (answer.organizations.length === 0)
      out.line('There are no organizations. Add one with "headworks organizations add NAME".');
    else
      out.table(
        ['ID', 'NAME', 'CREATED'],
        answer.organizations.map(({ id, name, created_at }) => [id, name, humanMoment(created_at, now)]),
      );
    return exitCodes.ok;
  });
}

function registerAdd(group: Command, host: CommandHost): void {
  const command = group
    .command('add')
    .argument('<name>', 'unique, whatever the case of its letters')
    .description('add an organization');
  examples(command, ['headworks organizations add acme-corp', 'headworks organizations add "Acme Corp."']);
  act(host, command, async (session, _options, [name = '']) => {
    const added = await callServer<Organization>(session, 'POST', organizationsPath, {
      body: { name },
    });
    if (session.out.isJson) session.out.json(added);
    else {
      session.out.line(`Organization ${added.name} is added: ${added.id}`);
      session.out.note('Give it a key with "headworks organizations keys create".');
    }
    return exitCodes.ok;
  });
}

function registerShow(group: Command, host: CommandHost): void {
  const command = group
    .command('show')
    .argument(...organizationArgument)
    .description('show an organization with its keys and deployments');
  examples(command, ['headworks organizations show acme-corp']);
  act(host, command, async (session, _options, [reference = '']) => {
    const { out, io } = session;
    const { organization, keys, deployments } = await session.withClient(async (client) => {
      const { signal } = io;
      const own = organizationPath(reference);
      return {
        organization: await client.call<Organization>('GET', own, { signal }),
        ...(await client.call<OrganizationKeys>('GET', `${own}/keys`, { signal })),
        ...(await client.call<Deployments>('GET', '/api/v1/deployments', {
          query: { organization: reference },
          signal,
        })),
      };
    });
    if (out.isJson) {
      out.json({ ...organization, keys, deployments });
      return exitCodes.ok;
    }
    const now = io.clock.now();
    const none = '–';
    out.facts([
      ['id', organization.id],
      ['name', organization.name],
      ['created', humanMoment(organization.created_at, now)],
      ['keys', keys.map((key) => `${key.name} (${keyState(key, now)})`).join(', ') || none],
      [
        'deployments',
        deployments.map(({ name, is_active: active }) => (active ? name : `${name} (off)`)).join(', ') ||
          none,
      ],
    ]);
    return exitCodes.ok;
  });
}

function registerRename(group: Command, host: CommandHost): void {
  const command = group
    .command('rename')
    .argument(...organizationArgument)
    .argument('<name>', 'the new name')
    .description('give an organization another name; its id stays, addresses with the old name do not');
  examples(command, ['headworks organizations rename acme-corp acme']);
  act(host, command, async (session, _options, [reference = '', name = '']) => {
    const renamed = await callServer<Organization>(session, 'PATCH', organizationPath(reference), {
      body: { name },
    });
    if (session.out.isJson) session.out.json(renamed);
    else session.out.line(`Organization ${renamed.id} is now called ${renamed.name}.`);
    return exitCodes.ok;
  });
}

function registerRemove(group: Command, host: CommandHost): void {
  const command = group
    .command('remove')
    .argument(...organizationArgument)
    .description('remove an organization with its keys, deployments, limit and ended executions')
    .option('--force', 'do not ask');
  examples(command, [
    'headworks organizations remove acme-corp',
    'headworks organizations remove acme-corp --force',
  ]);
  act<{ force?: boolean }>(host, command, async (session, { force }, [reference = '']) => {
    const { out } = session;
    const own = organizationPath(reference);
    const { id, name } = await callServer<Organization>(session, 'GET', own);
    const question = `Remove ${name} (${id}) with its keys, deployments, limit and ended executions?`;
    if (force !== true && !(await confirm(session, question))) {
      out.line('Nothing was removed.');
      return exitCodes.error;
    }
    // By id: what was asked about is what goes, also if names changed meanwhile.
    await callServer(session, 'DELETE', organizationPath(id));
    if (out.isJson) out.json({ removed: id });
    else out.line(`Organization ${name} is removed.`);
    return exitCodes.ok;
  });
}
