// headworks deployments: workflows that organizations call.
import type { DeploymentWithSecret, Deployments } from '../../api/deployments.ts';
import type { Command } from 'commander';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../exit-codes.ts';
import { deploymentArgument, deploymentNamed, deploymentPath, deploymentsPath } from './deployment-named.ts';
import { noteWarnings, showDeployment } from './deployment-screen.ts';
import { registerAddDeployment, registerChangeDeployment } from './deployments-write.ts';

export function registerDeployments(program: Command, host: CommandHost): void {
  const group = program.command('deployments').description('workflows that organizations call over HTTP');
  examples(group, [
    'headworks deployments add invoices --organization acme-corp --workflow structure --options invoice.yaml',
    'headworks deployments',
    'headworks deployments show acme-corp/invoices',
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
      out.line('There are no deployments. Publish one with "headworks deployments add".');
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
    .command('show')
    .argument(...deploymentArgument)
    .description('show a deployment, with the secret that signs its webhook');
  examples(command, ['headworks deployments show acme-corp/invoices']);
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
    .command('remove')
    .argument(...deploymentArgument)
    .description('remove a deployment with its ended executions')
    .option('--force', 'do not ask');
  examples(command, [
    'headworks deployments remove acme-corp/invoices',
    'headworks deployments remove acme-corp/invoices --force',
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
