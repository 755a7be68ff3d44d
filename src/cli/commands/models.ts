// headworks models: which AI models there are, how they are doing, and what to do with them.
import type { Model } from '../../api/models.ts';
import type { Command } from 'commander';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';
import { registerAdd, registerRemove } from './models-add.ts';
import { registerExplain, registerProbe } from './models-health.ts';
import { changeModel, modelsPath, withModel } from './models-named.ts';
import { showModel, showModels } from './models-screen.ts';

export function registerModels(program: Command, host: CommandHost): void {
  const group = program.command('models').description('AI models: availability, scores, cooldowns');
  examples(group, [
    'headworks models',
    'headworks models explain groq/llama-3.3-70b-versatile',
    'headworks models add --name mine --base-url http://127.0.0.1:8000/v1 --env-var MINE_API_KEY',
  ]);
  registerList(group, host);
  registerShow(group, host);
  registerAdd(group, host);
  registerRemove(group, host);
  registerActive(group, host, 'enable', true);
  registerActive(group, host, 'disable', false);
  registerCool(group, host);
  registerWarm(group, host);
  registerProbe(group, host);
  registerExplain(group, host);
}

function registerList(group: Command, host: CommandHost): void {
  const command = group
    .command('list', { isDefault: true })
    .description('list models, the best first')
    .option('--all', 'also those without a key, and disabled ones')
    .option('--available', 'only those that can be asked now: not cooling down, not out of quota');
  examples(command, ['headworks models list --all', 'headworks models list --json']);
  act<{ all?: boolean; available?: boolean }>(host, command, async (session, { all, available }) => {
    const models = await listed(session, {
      active_only: all !== true,
      configured_only: all !== true,
      available_only: available === true,
      include_recent: true,
    });
    if (session.out.isJson) session.out.json({ models });
    else showModels(session, models, all === true);
    return exitCodes.ok;
  });
}

const listed = (session: CliSession, query: Record<string, boolean>): Promise<readonly Model[]> =>
  session.withClient((client) =>
    client.call<readonly Model[]>('GET', modelsPath, { query, signal: session.io.signal }),
  );

function registerShow(group: Command, host: CommandHost): void {
  const command = group
    .command('show')
    .argument('<model>', 'its name or id')
    .description('everything about one model');
  examples(command, ['headworks models show groq/llama-3.3-70b-versatile']);
  act(host, command, async (session, _options, [wanted = '']) => {
    const model = await withModel(session, wanted, async (found) => found);
    if (session.out.isJson) session.out.json(model);
    else showModel(session, model);
    return exitCodes.ok;
  });
}

function registerActive(
  group: Command,
  host: CommandHost,
  name: 'enable' | 'disable',
  isActive: boolean,
): void {
  const command = group
    .command(name)
    .argument('<model>', 'its name or id')
    .description(isActive ? 'let a model be asked again' : 'never ask a model until it is enabled');
  examples(command, [`headworks models ${name} groq/llama-3.3-70b-versatile`]);
  act(host, command, (session, _options, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['active', { body: { is_active: isActive } }],
      done: (model) => `Model ${model.name} is ${isActive ? 'enabled' : 'disabled'}.`,
    }),
  );
}

function registerCool(group: Command, host: CommandHost): void {
  const command = group
    .command('cool')
    .argument('<model>', 'its name or id')
    .description('leave a model alone for a while')
    .option('--seconds <count>', 'how long', wholeNumber(1, 2_678_400), 3_600)
    .option('--reason <text>', 'why; shown with the model');
  examples(command, ['headworks models cool groq/llama-3.3-70b-versatile --seconds 600 --reason "billing"']);
  act<{ seconds: number; reason?: string }>(host, command, (session, { seconds, reason }, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['availability', { query: { retry_after_seconds: seconds, reason } }],
      done: (model) => `Model ${model.name} is left alone until ${model.available_at ?? 'now'}.`,
    }),
  );
}

function registerWarm(group: Command, host: CommandHost): void {
  const command = group
    .command('warm')
    .argument('<model>', 'its name or id')
    .description('take back every cooldown of a model');
  examples(command, ['headworks models warm groq/llama-3.3-70b-versatile']);
  act(host, command, (session, _options, [wanted = '']) =>
    changeModel(session, wanted, {
      change: () => ['availability', { query: { retry_after_seconds: 0 } }],
      done: (model) =>
        model.available_at === null
          ? `Model ${model.name} may be asked again.`
          : `Cooldowns of ${model.name} are taken back; its quota is used up until ${model.available_at}.`,
    }),
  );
}
