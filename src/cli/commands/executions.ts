// headworks executions: what organizations asked for, and what became of it.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { Execution, Executions, ReleasedSlot } from '../../api/executions.ts';
import { callServer } from '../call-server.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { humanDuration, humanMoment } from '../output.ts';
import type { CliSession } from '../session.ts';
import { deploymentArgument, deploymentNamed } from './deployments.ts';

const path = '/api/v1/executions';
const statuses = ['queued', 'executing', 'completed', 'error', 'stopped'] as const;
const exampleId = '01890a5d-ac96-774b-bcce-b302099a8057';

export function registerExecutions(program: Command, host: CommandHost): void {
  const group = program
    .command('executions')
    .description('executions of deployments: look at them, stop them, free slots that are held for nothing');
  examples(group, ['headworks executions', `headworks executions stop ${exampleId}`]);
  registerList(group, host);
  registerShow(group, host);
  registerStop(group, host);
  registerRelease(group, host);
}

interface ListOptions {
  readonly organization?: string;
  readonly deployment?: string;
  readonly status?: Execution['status'];
  readonly unfinished?: boolean;
  readonly limit: number;
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list executions, the newest first')
    .option('--organization <organization>', 'only those of this one: its id or its name')
    .option('--deployment <deployment>', `only those of this one: ${deploymentArgument[1]}`)
    .addOption(new Option('--status <status>', 'only those in this state').choices([...statuses]))
    .addOption(new Option('--unfinished', 'only those that hold a slot').conflicts('status'))
    .option('--limit <count>', 'how many at most', wholeNumber(1, 500), 50);
  examples(command, [
    'headworks executions list --unfinished',
    'headworks executions list --deployment acme-corp/invoices',
    'headworks executions list --organization acme-corp --status error --json',
  ]);
  act<ListOptions>(host, command, async (session, options) => {
    const { organization, limit } = options;
    const status = options.unfinished === true ? 'queued,executing' : options.status;
    const named =
      options.deployment === undefined ? null : await deploymentNamed(session, options.deployment);
    const query = { organization, deployment: named?.id, status, limit };
    const answer = await callServer<Executions>(session, 'GET', path, { query });
    if (session.out.isJson) session.out.json(answer);
    else showList(session, answer);
    return exitCodes.ok;
  });
}

function showList({ out, io }: CliSession, { executions, next }: Executions): void {
  const now = io.clock.now();
  if (executions.length === 0) out.line('There are no such executions.');
  else
    out.table(
      ['ID', 'DEPLOYMENT', 'STATUS', 'ACCEPTED', 'TOOK', 'NOTE'],
      executions.map((each) => [
        each.id,
        `${each.organization_name}/${each.deployment_name}`,
        each.status,
        humanMoment(each.accepted_at, now),
        took(each, now),
        each.error?.message ?? each.warnings.join(' '),
      ]),
      (text, column, row) => styleOf(out, text, column, executions[row]?.status),
    );
  if (next !== null) out.note('There are more; --limit shows them.');
}

function styleOf(
  out: CliSession['out'],
  text: string,
  column: number,
  status: Execution['status'] | undefined,
): string {
  if (column === 0) return out.style('dim', text);
  return column === 2 && status === 'error' ? out.style('red', text) : text;
}

/** From acceptance: so long it has held, or held, its slot. */
function took({ accepted_at, ended_at }: Execution, now: number): string {
  return humanDuration((ended_at === null ? now : Date.parse(ended_at)) - Date.parse(accepted_at));
}

/** One call about the execution that the command names. */
function registerOne(
  command: Command,
  host: CommandHost,
  { method, after }: { readonly method: 'GET' | 'POST'; readonly after: string },
  show: (session: CliSession, answer: Execution & ReleasedSlot) => void,
): void {
  command.argument('<id>', "the execution's id");
  act(host, command, async (session, _options, [id = '']) => {
    const address = `${path}/${encodeURIComponent(id)}${after}`;
    const answer = await callServer<Execution & ReleasedSlot>(session, method, address);
    if (session.out.isJson) session.out.json(answer);
    else show(session, answer);
    return exitCodes.ok;
  });
}

function registerShow(group: Command, host: CommandHost): void {
  const command = group.command('get').description('everything about one execution');
  examples(command, [`headworks executions get ${exampleId}`]);
  registerOne(command, host, { method: 'GET', after: '' }, showExecution);
}

function showExecution({ out, io }: CliSession, execution: Execution): void {
  const now = io.clock.now();
  const when = (iso: string | null) => (iso === null ? '–' : `${iso} (${humanMoment(iso, now)})`);
  const { error } = execution;
  out.facts([
    ['id', execution.id],
    ['organization', `${execution.organization_name} (${execution.organization_id})`],
    ['deployment', `${execution.deployment_name} (${execution.deployment_id})`],
    ['status', execution.status],
    ['accepted', when(execution.accepted_at)],
    ['started', when(execution.started_at)],
    ['ended', when(execution.ended_at)],
    ['took', took(execution, now)],
    ['job', execution.job_id],
    ['idempotency key', execution.idempotency_key ?? '–'],
    ['error', error === null ? '–' : `${error.code}: ${error.message}`],
    ['warnings', execution.warnings.join(' ') || '–'],
    ['result', JSON.stringify(execution.result ?? null)],
  ]);
}

function registerStop(group: Command, host: CommandHost): void {
  const command = group
    .command('stop')
    .description('stop an execution and free its slot; one that has ended stays as it is');
  examples(command, [`headworks executions stop ${exampleId}`]);
  registerOne(command, host, { method: 'POST', after: '/stop' }, ({ out }, { id, status }) =>
    out.line(status === 'stopped' ? `Execution ${id} is stopped.` : `Execution ${id} had ended: ${status}.`),
  );
}

function registerRelease(group: Command, host: CommandHost): void {
  const command = group
    .command('release')
    .description('release an orphaned slot: of an execution that has ended or does not exist');
  examples(command, [`headworks executions release ${exampleId}`]);
  registerOne(command, host, { method: 'POST', after: '/release' }, ({ out }, answer) =>
    out.line(answer.was_held ? `The slot of ${answer.id} is free.` : `${answer.id} held no slot.`),
  );
}
