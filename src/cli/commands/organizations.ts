// headworks organizations: manage organizations and their keys.
import type { Command } from 'commander';
import type { Deployments } from '../../api/deployments.ts';
import type {
  NewOrganizationKey,
  Organization,
  OrganizationKey,
  OrganizationKeys,
  Organizations,
} from '../../api/organizations.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { daysFrom, humanMoment, keyNamed, keyState } from '../output.ts';

export const organizationsPath = '/api/v1/organizations';

export const organizationPath = (organization: string): string =>
  `${organizationsPath}/${encodeURIComponent(organization)}`;

export const organizationArgument = ['<organization>', 'its id or its name'] as const;

export function registerOrganizations(program: Command, host: CommandHost): void {
  const group = program.command('organizations').description('who may call deployments, and their keys');
  examples(group, [
    'headworks organizations create acme-corp',
    'headworks organizations keys create acme-corp --name production',
    'headworks organizations get acme-corp',
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
      out.line('There are no organizations. Add one with "headworks organizations create NAME".');
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
    .command('create')
    .argument('<name>', 'unique, whatever the case of its letters')
    .description('add an organization');
  examples(command, [
    'headworks organizations create acme-corp',
    'headworks organizations create "Acme Corp."',
  ]);
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
    .command('get')
    .argument(...organizationArgument)
    .description('show an organization with its keys and deployments');
  examples(command, ['headworks organizations get acme-corp']);
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
    .command('delete')
    .argument(...organizationArgument)
    .description('remove an organization with its keys, deployments, limit and ended executions')
    .option('--force', 'do not ask');
  examples(command, [
    'headworks organizations delete acme-corp',
    'headworks organizations delete acme-corp --force',
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
    // By id, in case names changed after the confirmation.
    await callServer(session, 'DELETE', organizationPath(id));
    if (out.isJson) out.json({ removed: id });
    else out.line(`Organization ${name} is removed.`);
    return exitCodes.ok;
  });
}

const pathOf = (organization: string): string => `${organizationPath(organization)}/keys`;

export function registerOrganizationKeys(organizations: Command, host: CommandHost): void {
  const group = organizations.command('keys').description('the keys with which an organization calls');
  examples(group, [
    'headworks organizations keys create acme-corp --name production',
    'headworks organizations keys list acme-corp',
    'headworks organizations keys revoke acme-corp production',
  ]);
  registerCreate(group, host);
  registerListKeys(group, host);
  registerRevoke(group, host);
}

function registerCreate(group: Command, host: CommandHost): void {
  const command = group
    .command('create')
    .argument(...organizationArgument)
    .description('make a key; it is shown this once')
    .requiredOption('--name <name>', 'what it is for')
    .option('--expires-days <days>', 'it stops working after so many days', wholeNumber(1, 36_500));
  examples(command, [
    'headworks organizations keys create acme-corp --name production',
    'headworks organizations keys create acme-corp --name trial --expires-days 30',
  ]);
  act<{ name: string; expiresDays?: number }>(
    host,
    command,
    async (session, { name, expiresDays }, [organization = '']) => {
      const { out, io } = session;
      const end = expiresDays === undefined ? {} : { expires_at: daysFrom(io.clock.now(), expiresDays) };
      const body = { name, ...end };
      const made = await callServer<NewOrganizationKey>(session, 'POST', pathOf(organization), {
        body,
      });
      if (out.isJson) out.json(made);
      else {
        out.line(made.key);
        out.note(
          `This is the only time it is shown. Send it as "Authorization: Bearer KEY" to /deployment/api/${made.organization_id}/NAME.`,
        );
      }
      return exitCodes.ok;
    },
  );
}

function registerListKeys(group: Command, host: CommandHost): void {
  const command = group
    .command('list')
    .argument(...organizationArgument)
    .description('list keys of an organization; the keys themselves are kept nowhere');
  examples(command, ['headworks organizations keys list acme-corp --json']);
  act(host, command, async (session, _options, [organization = '']) => {
    const { out, io } = session;
    const answer = await callServer<OrganizationKeys>(session, 'GET', pathOf(organization));
    const now = io.clock.now();
    if (out.isJson) out.json(answer);
    else if (answer.keys.length === 0)
      out.line('There are no keys. Make one with "headworks organizations keys create".');
    else
      out.table(
        ['ID', 'NAME', 'KEY', 'STATE', 'CREATED'],
        answer.keys.map((key) => [
          key.id,
          key.name,
          `${key.prefix}…`,
          keyState(key, now),
          humanMoment(key.created_at, now),
        ]),
      );
    return exitCodes.ok;
  });
}

function registerRevoke(group: Command, host: CommandHost): void {
  const command = group
    .command('revoke')
    .argument(...organizationArgument)
    .argument('<key>', 'its id or name')
    .description('end a key for good');
  examples(command, ['headworks organizations keys revoke acme-corp production']);
  act(host, command, async (session, _options, [organization = '', wanted = '']) => {
    const revoked = await session.withClient(async (client) => {
      const { signal } = session.io;
      const path = pathOf(organization);
      const { keys } = await client.call<OrganizationKeys>('GET', path, { signal });
      const { id } = keyNamed(keys, wanted, 'headworks organizations keys list');
      return client.call<OrganizationKey>('DELETE', `${path}/${id}`, { signal });
    });
    if (session.out.isJson) session.out.json(revoked);
    else session.out.line(`The key ${revoked.name} is revoked.`);
    return exitCodes.ok;
  });
}
