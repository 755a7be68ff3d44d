// headworks simulate models: AI providers that do not exist, with limits and faults of your choice.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { SimulatedModels } from '../../app/simulate.ts';
import { simulateModels } from '../../app/simulate.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { interrupted } from '../interrupted.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';

const usualPort = 19_998;

interface SimulateModelsOptions {
  readonly port: number;
  readonly scenario: string;
}

export function registerSimulateModels(group: Command, host: CommandHost): void {
  const command = group
    .command('models')
    .description('AI providers with limits and faults of your choice; runs until Ctrl-C')
    .option(
      '--port <port>',
      'where to listen, on 127.0.0.1; 0 takes any free port',
      wholeNumber(0, 65_535),
      usualPort,
    )
    .requiredOption(
      '--scenario <file>',
      'who there is and how each behaves (YAML or JSON; see docs/gateway.md)',
    )
    .addHelpText(
      'after',
      '\nGET /__stats tells what was called. POST /__script decides what happens to the next calls: ' +
        '{"model": "NAME", "script": [{"fault": 429, "hint": "retry-after", "seconds": 60}, "ok"]}.',
    );
  examples(command, ['headworks simulate models --port 0 --scenario examples/models/scenario.yaml']);
  act<SimulateModelsOptions>(host, command, run);
}

/** Exit 0 after SIGTERM, 130 after Ctrl-C. */
async function run(session: CliSession, { port, scenario }: SimulateModelsOptions): Promise<ExitCode> {
  const { io, out } = session;
  const simulated = await simulateModels({ port, scenarioFile: resolve(io.cwd, scenario) });
  welcome(session, simulated);
  const exitCode = await interrupted(io);
  await simulated.simulator.stop();
  const stats = simulated.simulator.stats();
  const calls = Object.values(stats.models).reduce((sum, model) => sum + model.calls, 0);
  if (out.isJson) out.jsonLine({ state: 'stopped', stats });
  else out.note(`Stopped after ${calls} ${calls === 1 ? 'call' : 'calls'}.`);
  return exitCode;
}

function welcome({ out }: CliSession, { simulator, providers }: SimulatedModels): void {
  const { url } = simulator;
  if (out.isJson) {
    out.jsonLine({
      state: 'ready',
      url,
      stats: `${url}/__stats`,
      providers: providers.map((provider) => ({ ...provider, base_url: simulator.baseUrl(provider.name) })),
    });
    return;
  }
  out.line('Simulated AI providers are ready. They think nothing, and their keys open nothing else.');
  out.line();
  out.table(
    ['PROVIDER', 'BASE URL', 'MODELS', 'KEYS'],
    providers.map(({ name, models, keys }) => [
      name,
      simulator.baseUrl(name),
      models.join(', '),
      keys.join(', ') || 'any',
    ]),
  );
  out.line();
  out.line(`What was called: ${url}/__stats. Ctrl-C stops it.`);
}
