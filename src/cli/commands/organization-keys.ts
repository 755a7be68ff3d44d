// headworks organizations keys: the keys with which organizations call their deployments.
import type { NewOrganizationKey, OrganizationKey, OrganizationKeys } from '../../api/organizations.ts';
import type { Command } from 'commander';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { humanMoment } from '../human-time.ts';
import { daysFrom, keyNamed, keyState } from '../key-state.ts';
import { wholeNumber } from '../number-argument.ts';
import { organizationArgument, organizationPath } from './organization-path.ts';

const pathOf = (organization: string): string => `${organizationPath(organization)}/keys`;

export function registerOrganizationKeys(organizations: Command, host: CommandHost): void {
  const group = organizations.command('keys').description('the keys with which an organization calls');
  examples(group, [
    'headworks organizations keys create acme-corp --name production',
    'headworks organizations keys list acme-corp',
    'headworks organizations keys revoke acme-corp production',
  ]);
  registerCreate(group, host);
  registerList(group, host);
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

function registerList(group: Command, host: CommandHost): void {
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
