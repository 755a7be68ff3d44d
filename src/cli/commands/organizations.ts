// headworks organizations: manage organizations and their API keys.
import { callApi } from '../../api/client.ts';
import { organizationsApi } from '../../api/organizations.ts';
import type { CliCommand } from '../command.ts';
import { commandFor } from '../derive.ts';
import { expiry, expiryOption, keyColumns, keyNamed, keyState, revokeQuestion } from './keys.ts';

const organizationArgument = { organization: ['organization', 'name or id of the organization'] } as const;

export function register(group: CliCommand): void {
  commandFor(group, organizationsApi.list, {
    name: 'list',
    isDefault: true,
    examples: ['headworks organizations list --json'],
    print: ({ out }, { organizations }) =>
      out.list(
        organizations,
        'There are no organizations. Create one with "headworks organizations create NAME".',
        ['id', 'name', 'created_at'],
      ),
  });

  commandFor(group, organizationsApi.create, {
    name: 'create',
    arguments: { name: ['name', '1 to 100 visible characters without slashes; unique, ignoring case'] },
    examples: ['headworks organizations create acme-corp', 'headworks organizations create "Acme Corp."'],
    print: ({ out }, { name, id }) => {
      out.line(`Organization ${name} is created: ${id}`);
      out.note('Create a key for it with "headworks organizations keys create".');
    },
  });

  commandFor(group, organizationsApi.get, {
    name: 'get',
    description: 'get an organization with its keys and deployments',
    arguments: organizationArgument,
    examples: ['headworks organizations get acme-corp'],
    extend: async (organization, { client }) => {
      const of = { organization: organization.id };
      return {
        ...organization,
        ...(await callApi(client, 'GET /api/v1/organizations/:organization/keys', { params: of })),
        ...(await callApi(client, 'GET /api/v1/deployments', { query: of })),
      };
    },
    print: ({ out, io }, { keys, deployments, ...organization }) => {
      const now = io.clock.now();
      out.fields(organization, {
        keys: keys.map((key) => `${key.name} (${keyState(out, key, now)})`),
        deployments: deployments.map((each) => (each.is_active ? each.name : `${each.name} (disabled)`)),
      });
    },
  });

  commandFor(group, organizationsApi.update, {
    name: 'update',
    description: 'rename an organization; its id stays, URLs with the old name become invalid',
    arguments: organizationArgument,
    examples: ['headworks organizations update acme-corp --name acme'],
    print: ({ out }, { id, name }) => out.line(`Organization ${id} is now named ${name}.`),
  });

  commandFor(group, organizationsApi.delete, {
    name: 'delete',
    description: 'delete an organization with its keys, deployments, limit and ended executions',
    arguments: organizationArgument,
    examples: [
      'headworks organizations delete acme-corp',
      'headworks organizations delete acme-corp --force',
    ],
    // By id, in case names change after the confirmation.
    resolve: async ({ params }, { client }) => {
      const organization = String(params['organization']);
      const subject = await callApi(client, 'GET /api/v1/organizations/:organization', {
        params: { organization },
      });
      return { params: { organization: subject.id }, subject };
    },
    confirm: (_input, { name, id }) =>
      `Delete ${name} (${id}) with its keys, deployments, limit and ended executions?`,
    print: ({ out }, _none, { subject }) => out.line(`Organization ${subject.name} is deleted.`),
  });

  registerKeys(group.command('keys').description('manage API keys of an organization'));
}

function registerKeys(group: CliCommand): void {
  commandFor(group, organizationsApi.listKeys, {
    name: 'list',
    arguments: organizationArgument,
    examples: ['headworks organizations keys list acme-corp --json'],
    print: ({ out, io }, { keys }) =>
      out.list(
        keys,
        'There are no keys. Create one with "headworks organizations keys create".',
        keyColumns(out, io.clock.now()),
      ),
  });

  commandFor(group, organizationsApi.createKey, {
    name: 'create',
    description: 'create a key; it is shown only once',
    arguments: { ...organizationArgument, name: ['name', 'purpose of the key'] },
    flags: { expires_at: { isHidden: true } },
    options: [expiryOption()],
    examples: [
      'headworks organizations keys create acme-corp production',
      'headworks organizations keys create acme-corp trial --expires-days 30',
    ],
    prepare: ({ body }, context) => ({ body: { ...body, ...expiry(context) } }),
    print: ({ out }, { key, organization_id }) => {
      out.line(key);
      out.note(
        `It is not shown again. Send it as "Authorization: Bearer KEY" to /deployment/api/${organization_id}/NAME.`,
      );
    },
  });

  commandFor(group, organizationsApi.revokeKey, {
    name: 'revoke',
    arguments: { ...organizationArgument, id: ['key', 'name or id of the key'] },
    examples: [
      'headworks organizations keys revoke acme-corp production',
      'headworks organizations keys revoke acme-corp production --force',
    ],
    resolve: async ({ params }, { client }) => {
      const organization = String(params['organization']);
      const { keys } = await callApi(client, 'GET /api/v1/organizations/:organization/keys', {
        params: { organization },
      });
      const { id, name } = keyNamed(keys, String(params['id']), 'headworks organizations keys list');
      return { params: { organization, id }, subject: name };
    },
    confirm: revokeQuestion,
    print: ({ out }, { name }) => out.line(`Key ${name} is revoked.`),
  });
}
