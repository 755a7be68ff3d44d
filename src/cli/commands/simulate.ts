// headworks simulate: servers that do not exist, to try things on. Here a Looker; AI providers in simulate-models.ts.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { LookerSimulator, LookerSimulatorOptions } from '../../app/simulate.ts';
import { retryAfterStyles, simulatedTypes, simulateLooker } from '../../app/simulate.ts';
import type { CommandHost } from '../command-host.ts';
import { counted } from '../counted.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import type { CliSession } from '../session.ts';
import { interrupted } from '../interrupted.ts';
import { registerSimulateModels } from './simulate-models.ts';
import {
  readFailures,
  readFaults,
  readItems,
  readRateLimit,
  usualProbability,
} from './simulate-arguments.ts';

interface SimulateOptions {
  readonly port: number;
  readonly items: NonNullable<LookerSimulatorOptions['items']>;
  readonly pageLimit?: number;
  readonly rateLimit?: NonNullable<LookerSimulatorOptions['rateLimits']>;
  readonly retryAfter: NonNullable<LookerSimulatorOptions['retryAfter']>;
  readonly faults?: NonNullable<LookerSimulatorOptions['faults']>;
  readonly fail?: NonNullable<LookerSimulatorOptions['failures']>;
  readonly itemBytes?: number;
  readonly latency: number;
  readonly total: boolean;
  readonly tokenLifetime: number;
  readonly seed: number;
}

/** A small company, for who names no items. */
const smallCompany =
  'dashboards=240,lookml_dashboards=12,looks=120,lookml_models=4,explores=18,folders=24,boards=6,users=40,' +
  'groups=8,roles=6,permission_sets=5,model_sets=4,scheduled_plans=30';
/** Where a Looker of one's own has its API. */
const usualPort = 19_999;
const largestNumber = 1_000_000_000;

export function registerSimulate(program: Command, host: CommandHost): void {
  const group = program.command('simulate').description('servers that behave like others, to try things on');
  examples(group, [
    'headworks simulate looker --items dashboards=500,users=60',
    'headworks simulate models --scenario providers.yaml',
  ]);
  registerSimulateModels(group, host);
  const command = group
    .command('looker')
    .description('a Looker with content, limits and faults of your choice; runs until Ctrl-C')
    .option(
      '--port <port>',
      'where to listen, on 127.0.0.1; 0 takes any free port',
      wholeNumber(0, 65_535),
      usualPort,
    )
    .addOption(itemsOption())
    .option('--page-limit <n>', 'the most items in one answer', wholeNumber(1, 100_000))
    .option('--rate-limit <limits>', 'R/min,R/s or one of them, counted on arrival', readRateLimit)
    .addOption(
      new Option('--retry-after <style>', 'how a 429 says when to come back')
        .choices(retryAfterStyles)
        .default('seconds'),
    )
    .option(
      '--faults <faults>',
      `name[=probability[:ms]],…: 429=0.05,slow=0.1:200,hang; a name alone strikes with ${usualProbability}`,
      readFaults,
    )
    .option('--fail <calls>', 'calls that always fail: dashboards:offset=200,looks:id=17:404', readFailures)
    .option('--item-bytes <n>', 'fill items up to this size', wholeNumber(1, 1_000_000))
    .option('--latency <ms>', 'milliseconds before every answer', wholeNumber(0, 600_000), 0)
    .option('--no-total', 'send no X-Total-Count')
    .option('--token-lifetime <seconds>', 'how long a login holds', wholeNumber(1, 31_536_000), 3_600)
    .option('--seed <n>', 'the same seed gives the same content and faults', wholeNumber(0, largestNumber), 1)
    .addHelpText(
      'after',
      '\nGET /__stats tells what was called. POST /__content changes items: ' +
        '{"type": "dashboards", "change": 5, "delete": 2, "add": 3}.',
    );
  examples(command, [
    'headworks simulate looker',
    'headworks simulate looker --port 0 --items dashboards=5000,looks=200 --rate-limit 600/min,20/s',
    'headworks simulate looker --faults 429=0.05,500=0.02,slow=0.1:200 --seed 7',
  ]);
  act<SimulateOptions>(host, command, runLooker);
}

function itemsOption(): Option {
  return new Option('--items <counts>', `type=count,… of ${simulatedTypes.join(', ')}`)
    .argParser(readItems)
    .default(readItems(smallCompany), 'a small company of all types');
}

/** Exit 0 after SIGTERM, 130 after Ctrl-C. */
async function runLooker(session: CliSession, options: SimulateOptions): Promise<ExitCode> {
  const { io, out } = session;
  const simulator = await simulateLooker(settingsOf(options, session));
  welcome(session, simulator);
  const exitCode = await interrupted(io);
  await simulator.stop();
  if (out.isJson) out.jsonLine({ state: 'stopped', stats: simulator.stats() });
  else out.note(`Stopped after ${counted(simulator.stats().total, 'call')}.`);
  return exitCode;
}

function settingsOf(options: SimulateOptions, { io }: CliSession): LookerSimulatorOptions {
  const { port, items, seed, pageLimit, itemBytes, rateLimit, faults, fail } = options;
  return {
    port,
    items,
    seed,
    clock: io.clock,
    hasTotal: options.total,
    latencyMs: options.latency,
    retryAfter: options.retryAfter,
    tokenLifetimeMs: options.tokenLifetime * 1_000,
    ...(pageLimit === undefined ? {} : { pageLimit }),
    ...(itemBytes === undefined ? {} : { itemBytes }),
    ...(rateLimit === undefined ? {} : { rateLimits: rateLimit }),
    ...(faults === undefined ? {} : { faults }),
    ...(fail === undefined ? {} : { failures: fail }),
  };
}

function welcome({ out }: CliSession, { url, clientId, clientSecret }: LookerSimulator): void {
  if (out.isJson) {
    out.jsonLine({
      state: 'ready',
      url,
      client_id: clientId,
      client_secret: clientSecret,
      stats: `${url}/__stats`,
    });
    return;
  }
  out.line('A simulated Looker is ready. It holds nothing real, and its credentials open nothing else.');
  out.line();
  out.facts([
    ['LOOKER_BASE_URL', url],
    ['LOOKER_CLIENT_ID', clientId],
    ['LOOKER_CLIENT_SECRET', clientSecret],
    ['what was called', `${url}/__stats`],
  ]);
  out.line();
  out.line('Ctrl-C stops it.');
}
