// headworks executions: list and stop executions of deployments.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { Execution } from '../../api/executions.ts';
import { executionsApi } from '../../api/executions.ts';
import type { CliContext } from '../command.ts';
import { exampleId, examples } from '../command.ts';
import { commandFor } from '../derive.ts';
import { humanDuration } from '../output.ts';
import { deploymentArgument, deploymentNamed } from './deployments.ts';

export function register(group: Command, context: CliContext): void {
  examples(group, ['headworks executions', `headworks executions stop ${exampleId}`]);

  commandFor(group, context, executionsApi.list, {
    name: 'list',
    isDefault: true,
    flags: { deployment: { description: deploymentArgument.id[1] }, limit: { default: 50 } },
    options: [
      new Option('--unfinished', 'only executions that hold a slot: queued or executing').conflicts('status'),
    ],
    examples: [
      'headworks executions list --unfinished',
      'headworks executions list --deployment acme-corp/invoices',
      'headworks executions list --organization acme-corp --status error --json',
    ],
    prepare: ({ query }, { own }) =>
      own['unfinished'] === true ? { query: { ...query, status: 'queued,executing' } } : {},
    resolve: async ({ query }, { client }) => {
      if (query.deployment === undefined) return {};
      return { query: { ...query, deployment: (await deploymentNamed(client, query.deployment)).id } };
    },
    print: ({ out, io }, { executions, next }) => {
      out.list(executions, 'There are no such executions.', [
        'id',
        ['deployment', (each) => `${each.organization_name}/${each.deployment_name}`],
        'status',
        'accepted_at',
        ['duration', (each) => durationText(each, io.clock.now())],
        ['note', ({ error, warnings }) => error?.message ?? warnings.join(' ')],
      ]);
      out.nextPage(next);
    },
  });

  commandFor(group, context, executionsApi.get, {
    name: 'get',
    examples: [`headworks executions get ${exampleId}`],
    print: ({ out, io }, execution) =>
      out.fields(execution, { duration: durationText(execution, io.clock.now()) }),
  });

  commandFor(group, context, executionsApi.stop, {
    name: 'stop',
    examples: [`headworks executions stop ${exampleId}`],
    print: ({ out }, { id, status }) =>
      out.line(
        status === 'stopped' ? `Execution ${id} is stopped.` : `Execution ${id} had ended: ${status}.`,
      ),
  });

  commandFor(group, context, executionsApi.release, {
    name: 'release',
    examples: [`headworks executions release ${exampleId}`],
    print: ({ out }, { id, was_held }) =>
      out.line(was_held ? `The slot of ${id} is free.` : `${id} held no slot.`),
  });
}

/** From acceptance: how long it has held its slot. */
function durationText({ accepted_at, ended_at }: Execution, now: number): string {
  return humanDuration((ended_at === null ? now : Date.parse(ended_at)) - Date.parse(accepted_at));
}
