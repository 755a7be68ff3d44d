// headworks deployments add and change.
import type { DeploymentWithSecret } from '../../api/deployments.ts';
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { WorkflowName } from '../../tenancy/index.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { readYamlFile } from '../read-yaml-file.ts';
import { UsageError } from '../report-error.ts';
import type { CliSession } from '../session.ts';
import { deploymentArgument, deploymentNamed, deploymentPath, deploymentsPath } from './deployment-named.ts';
import { showDeployment } from './deployment-screen.ts';

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
    .command('add')
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
    'headworks deployments add invoices --organization acme-corp --workflow structure --options invoice.yaml',
    'headworks deployments add summary --organization acme-corp --workflow prompt --options summary.yaml --wait 5',
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
    .command('change')
    .argument(...deploymentArgument)
    .description('change what is given; options are replaced as a whole')
    .option('--name <name>', 'another name: the address changes with it');
  addWriteOptions(command).option('--no-webhook', 'tell nobody any more');
  examples(command, [
    'headworks deployments change acme-corp/invoices --options invoice.yaml',
    'headworks deployments change acme-corp/invoices --webhook https://example.com/hook',
    'headworks deployments change acme-corp/invoices --no-webhook --wait 0',
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
