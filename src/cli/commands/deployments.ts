// headworks deployments, executions: publish workflows to organizations; list and cancel what they run.
import { Option } from 'commander';
import { callApi } from '../../api/client.ts';
import type { Deployment, DeploymentWithSecret, Execution } from '../../api/deployments.ts';
import { deploymentsApi, executionsApi } from '../../api/deployments.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { CoreError } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { UsageError } from '../exit-codes.ts';
import { exampleId, readYamlFile } from '../command.ts';
import type { CallContext, CommandInput, OwnOptions } from '../derive.ts';
import { commandFor } from '../derive.ts';
import type { Output } from '../output.ts';
import { formatDuration } from '../output.ts';
import type { CliSession } from '../session.ts';

export const commands = { deployments: registerDeployments, executions: registerExecutions };

export const deploymentArgument = {
  id: ['deployment', 'ORGANIZATION/NAME, name or id of the deployment'],
} as const;

const optionsFile = (): Option =>
  new Option('--options <file>', 'settings of the workflow: a YAML or JSON file');

function registerDeployments(group: CliCommand): void {
  commandFor(group, deploymentsApi.list, {
    name: 'list',
    isDefault: true,
    examples: ['headworks deployments list --organization acme-corp', 'headworks deployments list --json'],
    print: ({ out }, { deployments }) =>
      out.list(deployments, 'There are no deployments. Publish one with "headworks deployments create".', [
        'id',
        ['deployment', nameOf],
        'workflow',
        ['state', stateOf],
        'path',
      ]),
  });

  commandFor(group, deploymentsApi.create, {
    name: 'create',
    arguments: { name: ['name', 'letters, digits, "-", "_" and "."; part of the URL'] },
    flags: { options: { isHidden: true }, is_active: { isHidden: true } },
    options: [optionsFile(), new Option('--inactive', 'create it disabled')],
    examples: [
      'headworks deployments create invoices --organization acme-corp --workflow structure --options invoice.yaml',
      'headworks deployments create summary --organization acme-corp --workflow prompt --options summary.yaml --wait-seconds 5',
    ],
    prepare: async ({ body }, context) => ({
      body: {
        ...body,
        ...(await readOptions(context)),
        ...(context.own['inactive'] === true ? { is_active: false } : {}),
      },
    }),
    print: ({ out }, deployment) => {
      printDeployment(out, deployment);
      out.note('Create a key for the organization with "headworks organizations keys create".');
    },
  });

  commandFor(group, deploymentsApi.get, {
    name: 'get',
    arguments: deploymentArgument,
    examples: ['headworks deployments get acme-corp/invoices'],
    resolve: resolveDeployment,
    print: ({ out }, deployment) => printDeployment(out, deployment),
  });

  commandFor(group, deploymentsApi.update, {
    name: 'update',
    description: 'update the given settings of a deployment; options are replaced as a whole',
    arguments: deploymentArgument,
    flags: {
      name: { description: 'new name; the URL changes with it' },
      options: { isHidden: true },
      is_active: { isHidden: true },
      workflow: { isHidden: true },
      webhook_url: { negation: 'remove the webhook' },
    },
    options: [optionsFile()],
    examples: [
      'headworks deployments update acme-corp/invoices --options invoice.yaml',
      'headworks deployments update acme-corp/invoices --webhook-url https://example.com/hook',
      'headworks deployments update acme-corp/invoices --no-webhook-url --wait-seconds 0',
    ],
    prepare: async (input, context) => {
      const body = { ...input.body, ...(await readOptions(context)) };
      if (Object.keys(body).length === 0) throw new UsageError('Name at least one setting to change.');
      return { body };
    },
    resolve: resolveDeployment,
    print: ({ out }, deployment) => printDeployment(out, deployment),
  });

  for (const [name, isActive] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    commandFor(group, deploymentsApi.update, {
      name,
      description: isActive ? 'enable a deployment' : 'disable a deployment; accepted executions continue',
      arguments: deploymentArgument,
      flags: Object.fromEntries(
        Object.keys(deploymentsApi.update.body.shape).map((field) => [field, { isHidden: true }]),
      ),
      examples: [`headworks deployments ${name} acme-corp/invoices`],
      prepare: () => ({ body: { is_active: isActive } }),
      resolve: resolveDeployment,
      print: ({ out }, deployment) => {
        out.line(`Deployment ${nameOf(deployment)} is ${stateOf(deployment)}.`);
        if (isActive) printWarnings(out, deployment.warnings);
      },
    });

  commandFor(group, deploymentsApi.delete, {
    name: 'delete',
    description: 'delete a deployment with its ended executions',
    arguments: deploymentArgument,
    examples: [
      'headworks deployments delete acme-corp/invoices',
      'headworks deployments delete acme-corp/invoices --force',
    ],
    resolve: resolveDeployment,
    confirm: (_input, deployment) =>
      `Delete ${nameOf(deployment)} (${deployment.id}) with its ended executions?`,
    print: ({ out }, _none, { subject }) => out.line(`Deployment ${nameOf(subject)} is deleted.`),
  });
}

const nameOf = ({ organization_name, name }: Deployment): string => `${organization_name}/${name}`;
const stateOf = ({ is_active }: Deployment): string => (is_active ? 'enabled' : 'disabled');

async function readOptions({ session, own }: { readonly session: CliSession; readonly own: OwnOptions }) {
  const file = own['options'];
  if (typeof file !== 'string') return {};
  return { options: (await readYamlFile(session, file)) as Record<string, unknown> };
}

async function resolveDeployment({ params }: Pick<CommandInput, 'params'>, { client }: CallContext) {
  const subject = await deploymentNamed(client, String(params['id']));
  return { params: { id: subject.id }, subject };
}

/** Fails with NOT_FOUND, or CONFLICT when several organizations have one of this name. */
export async function deploymentNamed(client: HeadworksClient, wanted: string): Promise<Deployment> {
  // Names of organizations contain no slash.
  const slash = wanted.lastIndexOf('/');
  const query = slash === -1 ? {} : { organization: wanted.slice(0, slash) };
  const name = wanted.slice(slash + 1);
  const { deployments } = await callApi(client, 'GET /api/v1/deployments', { query });
  const byId = deployments.find(({ id }) => id === wanted);
  if (byId) return byId;
  const named = deployments.filter((each) => each.name.toLowerCase() === name.toLowerCase());
  const [only] = named;
  if (only && named.length === 1) return only;
  if (named.length > 1)
    throw new CoreError(
      'CONFLICT',
      `Several organizations have a deployment ${name}: ${named.map(nameOf).join(', ')}. Name one of them.`,
    );
  throw new CoreError(
    'NOT_FOUND',
    `There is no deployment ${wanted}. "headworks deployments list" lists all.`,
  );
}

function printDeployment(out: Output, { warnings, ...deployment }: DeploymentWithSecret): void {
  out.fields(deployment);
  printWarnings(out, warnings);
}

function printWarnings(out: Output, warnings: readonly string[]): void {
  for (const warning of warnings) out.note(`⚠ ${warning}`);
}

function registerExecutions(group: CliCommand): void {
  commandFor(group, executionsApi.list, {
    name: 'list',
    isDefault: true,
    flags: { deployment: { description: deploymentArgument.id[1] }, limit: { default: 50 } },
    options: [
      new Option('--unfinished', 'only executions that hold a slot: queued or running').conflicts('state'),
    ],
    examples: [
      'headworks executions list --unfinished',
      'headworks executions list --deployment acme-corp/invoices',
      'headworks executions list --organization acme-corp --state failed --json',
    ],
    prepare: ({ query }, { own }) =>
      own['unfinished'] === true ? { query: { ...query, state: 'queued,running' } } : {},
    resolve: async ({ query }, { client }) => {
      if (query.deployment === undefined) return {};
      return { query: { ...query, deployment: (await deploymentNamed(client, query.deployment)).id } };
    },
    print: ({ out, io }, { executions, next }) => {
      out.list(executions, 'There are no such executions.', [
        'id',
        ['deployment', (each) => `${each.organization_name}/${each.deployment_name}`],
        'state',
        'accepted_at',
        ['duration', (each) => durationText(each, io.clock.now())],
        ['note', ({ error, warnings }) => error?.message ?? warnings.join(' ')],
      ]);
      out.nextPage(next);
    },
  });

  commandFor(group, executionsApi.get, {
    name: 'get',
    examples: [`headworks executions get ${exampleId}`],
    print: ({ out, io }, execution) =>
      out.fields(execution, { duration: durationText(execution, io.clock.now()) }),
  });

  commandFor(group, executionsApi.cancel, {
    name: 'cancel',
    examples: [`headworks executions cancel ${exampleId}`],
    print: ({ out }, { id, state }) =>
      out.line(
        state === 'canceled' ? `Execution ${id} is canceled.` : `Execution ${id} had ended: ${state}.`,
      ),
  });

  commandFor(group, executionsApi.release, {
    name: 'release',
    examples: [`headworks executions release ${exampleId}`],
    print: ({ out }, { id, is_released }) =>
      out.line(is_released ? `The slot of ${id} is free.` : `${id} held no slot.`),
  });
}

/** From acceptance: how long it has held its slot. */
function durationText({ accepted_at, finished_at }: Execution, now: number): string {
  return formatDuration((finished_at === null ? now : Date.parse(finished_at)) - Date.parse(accepted_at));
}
