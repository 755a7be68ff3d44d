// headworks models probe and explain: is it up, and why is it where it is in the order.
import type { ModelExplanation, Probes } from '../../api/models.ts';
import type { Command } from 'commander';
import type { HeadworksClient } from '../../app/client/session.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { humanMoment } from '../human-time.ts';
import type { CliSession } from '../session.ts';
import { modelsPath, withModel, withModels } from './models-named.ts';

export function registerProbe(group: Command, host: CommandHost): void {
  const command = group
    .command('probe')
    .argument('[models...]', 'names or ids; all that have a key when none is given')
    .description('ask models something cheap now, within their quotas');
  examples(command, [
    'headworks models probe',
    'headworks models probe groq/llama-3.3-70b-versatile',
    'headworks models probe acme/large acme/small',
  ]);
  act(host, command, async (session, _options, wanted) => {
    session.out.note('Asking …');
    const ask = (client: HeadworksClient, body: object) =>
      client.call<Probes>('POST', `${modelsPath}/probe`, { body, signal: session.io.signal });
    const answer =
      wanted.length === 0
        ? await session.withClient((client) => ask(client, {}))
        : await withModels(session, wanted, (models, client) =>
            ask(client, { ids: models.map(({ id }) => id) }),
          );
    if (session.out.isJson) session.out.json(answer);
    else showProbes(session, answer);
    const isBroken = answer.probes.some(({ outcome }) => outcome !== 'success' && outcome !== 'skipped');
    return isBroken ? exitCodes.incomplete : exitCodes.ok;
  });
}

function showProbes({ out }: CliSession, { probes }: Probes): void {
  if (probes.length === 0) {
    out.line('No model has a key: there is nothing to probe.');
    return;
  }
  out.table(
    ['MODEL', 'OUTCOME', 'MS', 'WHY'],
    probes.map(({ model, outcome, duration_ms, reason }) => [
      model,
      outcome,
      duration_ms === null ? '–' : String(Math.round(duration_ms)),
      reason ?? '',
    ]),
  );
}

export function registerExplain(group: Command, host: CommandHost): void {
  const command = group
    .command('explain')
    .argument('<model>', 'its name or id')
    .description('how a score came about, and the place it gives');
  examples(command, ['headworks models explain groq/llama-3.3-70b-versatile']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const answer = await withModel(session, wanted, ({ id }, client) =>
      client.call<ModelExplanation>('GET', `${modelsPath}/${id}/explain`, {
        signal: session.io.signal,
      }),
    );
    if (session.out.isJson) session.out.json(answer);
    else showExplanation(session, answer);
    return exitCodes.ok;
  });
}

function showExplanation({ out, io }: CliSession, answer: ModelExplanation): void {
  const { model, steps, position, position_reason, recent_attempts } = answer;
  out.line(out.style('bold', model.name));
  out.line(
    position === null
      ? `Not asked now: ${position_reason}`
      : `Asked as number ${position}: ${position_reason}`,
  );
  out.line();
  for (const step of steps) out.line(`  ${step}`);
  if (recent_attempts.length === 0) return;
  out.line();
  out.table(
    ['WHEN', 'OUTCOME', 'STATUS', 'MS', 'TOKENS', 'CALLER'],
    recent_attempts.map((attempt) => [
      humanMoment(attempt.at, io.clock.now()),
      attempt.outcome,
      attempt.status === null ? '–' : String(attempt.status),
      String(Math.round(attempt.duration_ms)),
      `${attempt.prompt_tokens} + ${attempt.completion_tokens}`,
      attempt.caller,
    ]),
  );
}
