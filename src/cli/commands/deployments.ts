// headworks deployments: publish workflows to organizations and manage them.
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { Deployment, DeploymentWithSecret, Deployments } from '../../api/deployments.ts';
import { CoreError } from '../../core/index.ts';
import type { WorkflowName } from '../../tenancy/index.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { humanMoment } from '../output.ts';
import { readYamlFile } from '../read-yaml-file.ts';
import { UsageError } from '../report-error.ts';
import type { CliSession } from '../session.ts';

export function registerDeployments(program: Command, host: CommandHost): void {
  const group = program.command('deployments').description('workflows that organizations call over HTTP');
  examples(group, [
    'headworks deployments create invoices --organization acme-corp --workflow structure --options invoice.yaml',
    'headworks deployments',
    'headworks deployments get acme-corp/invoices',
  ]);
  registerList(group, host);
  registerAddDeployment(group, host);
  registerShow(group, host);
  registerChangeDeployment(group, host);
  registerSwitch(group, host, true);
  registerSwitch(group, host, false);
  registerRemove(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list deployments')
    .option('--organization <organization>', 'only of this one: its id or its name');
  examples(command, [
    'headworks deployments list --organization acme-corp',
    'headworks deployments list --json',
  ]);
  act<{ organization?: string }>(host, command, async (session, { organization }) => {
    const { out } = session;
    const query = { organization };
    const answer = await callServer<Deployments>(session, 'GET', deploymentsPath, { query });
    if (out.isJson) out.json(answer);
    else if (answer.deployments.length === 0)
      out.line('There are no deployments. Publish one with "headworks deployments create".');
    else
      out.table(
        ['ID', 'DEPLOYMENT', 'WORKFLOW', 'STATE', 'PATH'],
        answer.deployments.map((each) => [
          each.id,
          `${each.organization_name}/${each.name}`,
          each.workflow,
          each.is_active ? 'on' : 'off',
          each.path,
        ]),
      );
    return exitCodes.ok;
  });
}

function registerShow(group: Command, host: CommandHost): void {
  const command = group
    .command('get')
    .argument(...deploymentArgument)
    .description('show a deployment, with the secret that signs its webhook');
  examples(command, ['headworks deployments get acme-corp/invoices']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const { id } = await deploymentNamed(session, wanted);
    showDeployment(session, await callServer(session, 'GET', deploymentPath(id)));
    return exitCodes.ok;
  });
}

function registerSwitch(group: Command, host: CommandHost, active: boolean): void {
  const name = active ? 'enable' : 'disable';
  const command = group
    .command(name)
    .argument(...deploymentArgument)
    .description(
      active ? 'switch a deployment on' : 'switch a deployment off; what was accepted is still done',
    );
  examples(command, [`headworks deployments ${name} acme-corp/invoices`]);
  act(host, command, async (session, _options, [wanted = '']) => {
    const { id } = await deploymentNamed(session, wanted);
    const changed = await callServer<DeploymentWithSecret>(session, 'PATCH', deploymentPath(id), {
      body: { is_active: active },
    });
    const { out } = session;
    if (out.isJson) out.json(changed);
    else out.line(`Deployment ${changed.organization_name}/${changed.name} is ${active ? 'on' : 'off'}.`);
    if (active) noteWarnings(out, changed);
    return exitCodes.ok;
  });
}

function registerRemove(group: Command, host: CommandHost): void {
  const command = group
    .command('delete')
    .argument(...deploymentArgument)
    .description('remove a deployment with its ended executions')
    .option('--force', 'do not ask');
  examples(command, [
    'headworks deployments delete acme-corp/invoices',
    'headworks deployments delete acme-corp/invoices --force',
  ]);
  act<{ force?: boolean }>(host, command, async (session, { force }, [wanted = '']) => {
    const { out } = session;
    const { id, organization_name: organization, name } = await deploymentNamed(session, wanted);
    const question = `Remove ${organization}/${name} (${id}) with its ended executions?`;
    if (force !== true && !(await confirm(session, question))) {
      out.line('Nothing was removed.');
      return exitCodes.error;
    }
    await callServer(session, 'DELETE', deploymentPath(id));
    if (out.isJson) out.json({ removed: id });
    else out.line(`Deployment ${organization}/${name} is removed.`);
    return exitCodes.ok;
  });
}

/** By what the server calls it; the compiler asks for every one of them. */
const workflows: Readonly<Record<WorkflowName, true>> = {
  structure: true,
  prompt: true,
  search: true,
  ingest: true,
};

interface WriteOptions {
  readonly options?: string;
  /** False for --no-webhook. */
  readonly webhook?: string | false;
  readonly wait?: number;
}

interface AddOptions extends WriteOptions {
  readonly organization: string;
  readonly workflow: WorkflowName;
  readonly inactive?: boolean;
}

interface ChangeOptions extends WriteOptions {
  readonly name?: string;
}

export function registerAddDeployment(group: Command, host: CommandHost): void {
  const command = group
    .command('create')
    .argument('<name>', 'letters, digits, "-", "_" and "."; it is part of the address')
    .description('publish a workflow to an organization')
    .requiredOption('--organization <organization>', 'its id or its name')
    .addOption(
      new Option('--workflow <workflow>', 'what it does')
        .choices(Object.keys(workflows))
        .makeOptionMandatory(),
    );
  addWriteOptions(command).option('--inactive', 'switched off at first');
  examples(command, [
    'headworks deployments create invoices --organization acme-corp --workflow structure --options invoice.yaml',
    'headworks deployments create summary --organization acme-corp --workflow prompt --options summary.yaml --wait 5',
  ]);
  act<AddOptions>(host, command, async (session, options, [name = '']) => {
    const { organization, workflow, inactive } = options;
    const body = {
      organization,
      name,
      workflow,
      ...(await written(session, options)),
      ...(inactive === true ? { is_active: false } : {}),
    };
    const added = await callServer<DeploymentWithSecret>(session, 'POST', deploymentsPath, { body });
    showDeployment(session, added);
    session.out.note('Give the organization a key with "headworks organizations keys create".');
    return exitCodes.ok;
  });
}

export function registerChangeDeployment(group: Command, host: CommandHost): void {
  const command = group
    .command('update')
    .argument(...deploymentArgument)
    .description('change what is given; options are replaced as a whole')
    .option('--name <name>', 'another name: the address changes with it');
  addWriteOptions(command).option('--no-webhook', 'remove the webhook');
  examples(command, [
    'headworks deployments update acme-corp/invoices --options invoice.yaml',
    'headworks deployments update acme-corp/invoices --webhook https://example.com/hook',
    'headworks deployments update acme-corp/invoices --no-webhook --wait 0',
  ]);
  act<ChangeOptions>(host, command, async (session, options, [wanted = '']) => {
    const { name } = options;
    const body = { ...(name === undefined ? {} : { name }), ...(await written(session, options)) };
    if (Object.keys(body).length === 0) throw new UsageError('say what to change; see --help.');
    const { id } = await deploymentNamed(session, wanted);
    showDeployment(session, await callServer(session, 'PATCH', deploymentPath(id), { body }));
    return exitCodes.ok;
  });
}

function addWriteOptions(command: Command): Command {
  return command
    .option('--options <file>', 'what the workflow needs: a YAML or JSON file')
    .option('--webhook <url>', 'told, signed, of every execution that ends')
    .option('--wait <seconds>', 'how long requests wait for a slot; 0 answers at once', seconds);
}

async function written({ io }: CliSession, { options, webhook, wait }: WriteOptions): Promise<object> {
  return {
    ...(options === undefined ? {} : { options: await readYamlFile(io.cwd, options) }),
    ...(webhook === undefined ? {} : { webhook_url: webhook === false ? null : webhook }),
    ...(wait === undefined ? {} : { wait_seconds: wait }),
  };
}

function seconds(text: string): number {
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.');
  return Number(text);
}

export const deploymentsPath = '/api/v1/deployments';
export const deploymentPath = (id: string): string => `${deploymentsPath}/${id}`;

export const deploymentArgument = ['<deployment>', 'its id, ORGANIZATION/NAME, or its name'] as const;

/** Fails with NOT_FOUND, or CONFLICT when several organizations have one of this name. */
export async function deploymentNamed(session: CliSession, wanted: string): Promise<Deployment> {
  // Organizations' names hold no slash.
  const slash = wanted.lastIndexOf('/');
  const query = slash === -1 ? {} : { organization: wanted.slice(0, slash) };
  const name = wanted.slice(slash + 1);
  const { deployments } = await callServer<Deployments>(session, 'GET', deploymentsPath, { query });
  const byId = deployments.find(({ id }) => id === wanted);
  if (byId) return byId;
  const named = deployments.filter((each) => each.name.toLowerCase() === name.toLowerCase());
  const [only] = named;
  if (only && named.length === 1) return only;
  if (named.length > 1)
    throw new CoreError(
      'CONFLICT',
      `Several organizations have a deployment ${name}: ${named.map((each) => `${each.organization_name}/${each.name}`).join(', ')}. Say which.`,
    );
  throw new CoreError(
    'NOT_FOUND',
    `There is no deployment ${wanted}. "headworks deployments list" shows all.`,
  );
}

export function showDeployment({ out, io }: CliSession, deployment: DeploymentWithSecret): void {
  if (out.isJson) return out.json(deployment);
  const now = io.clock.now();
  const none = '–';
  out.facts([
    ['id', deployment.id],
    ['deployment', `${deployment.organization_name}/${deployment.name}`],
    ['state', deployment.is_active ? 'on' : 'off'],
    ['path', deployment.path],
    ['workflow', deployment.workflow],
    ['options', JSON.stringify(deployment.options)],
    ['wait', `${deployment.wait_seconds} s`],
    ['webhook', deployment.webhook_url ?? none],
    ['webhook secret', deployment.webhook_secret ?? none],
    ['created', humanMoment(deployment.created_at, now)],
    ['modified', humanMoment(deployment.modified_at, now)],
  ]);
  noteWarnings(out, deployment);
}

/** What keeps a deployment from working, beside what is shown of it. */
export function noteWarnings(out: CliSession['out'], { warnings }: DeploymentWithSecret): void {
  for (const warning of warnings) out.note(`⚠ ${warning}`);
}
