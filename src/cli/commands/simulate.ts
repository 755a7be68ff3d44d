// headworks simulate: servers that behave like Looker and model providers.
import { resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import type {
  FaultName,
  FaultSetting,
  LookerSimulator,
  LookerSimulatorOptions,
  PermanentFailure,
  SimulatedModels,
  SimulatedType,
} from '../../app/simulate.ts';
import {
  faultNames,
  retryAfterStyles,
  simulateLooker,
  simulateModels,
  simulatedTypes,
} from '../../app/simulate.ts';
import type { CliCommand } from '../command.ts';
import { untilInterrupted, wholeNumber } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { counted } from '../output.ts';
import type { CliSession } from '../session.ts';

type Looker = LookerSimulatorOptions;

/** Options under the simulator's own names reach it as they are. */
interface LookerFlags extends Looker {
  readonly rateLimit?: Looker['rateLimits'];
  readonly fail?: Looker['failures'];
  readonly latency: number;
  readonly total: boolean;
  readonly tokenLifetime: number;
}

/** Default content: a small company. */
const smallCompany =
  'dashboards=240,lookml_dashboards=12,looks=120,lookml_models=4,explores=18,folders=24,boards=6,users=40,' +
  'groups=8,roles=6,permission_sets=5,model_sets=4,scheduled_plans=30';
/** Port of the API of a self-hosted Looker. */
const defaultLookerPort = 19_999;
const largestNumber = 1_000_000_000;

export function register(group: CliCommand): void {
  registerModels(group);
  const command = group
    .command('looker')
    .description('run a simulated Looker with the given content, limits and faults, until Ctrl-C')
    .option(
      '--port <port>',
      'port on 127.0.0.1; 0 for any free port',
      wholeNumber(0, 65_535),
      defaultLookerPort,
    )
    .addOption(itemsOption())
    .option('--page-limit <n>', 'maximum number of items per page', wholeNumber(1, 100_000))
    .option('--rate-limit <limits>', 'requests per minute, per second or both: 600/min,20/s', readRateLimit)
    .addOption(
      new Option('--retry-after <style>', 'form of the Retry-After header of a 429')
        .choices(retryAfterStyles)
        .default('seconds'),
    )
    .option(
      '--faults <faults>',
      `random faults as name[=probability[:ms]],…, such as 429=0.05,slow=0.1:200,hang; default probability ${usualProbability}`,
      readFaults,
    )
    .option('--fail <calls>', 'calls that always fail: dashboards:offset=200,looks:id=17:404', readFailures)
    .option('--item-bytes <n>', 'fill items up to this size', wholeNumber(1, 1_000_000))
    .option('--latency <ms>', 'delay of every response in milliseconds', wholeNumber(0, 600_000), 0)
    .option('--no-total', 'send no X-Total-Count')
    .option('--token-lifetime <seconds>', 'lifetime of an access token', wholeNumber(1, 31_536_000), 3_600)
    .option(
      '--seed <n>',
      'the same seed produces the same content and faults',
      wholeNumber(0, largestNumber),
      1,
    )
    .addHelpText(
      'after',
      '\nGET /__stats counts requests. POST /__content changes items: ' +
        '{"type": "dashboards", "change": 5, "delete": 2, "add": 3}.',
    );
  command.examples([
    'headworks simulate looker',
    'headworks simulate looker --port 0 --items dashboards=5000,looks=200 --rate-limit 600/min,20/s',
    'headworks simulate looker --faults 429=0.05,500=0.02,slow=0.1:200 --seed 7',
    'headworks simulate looker --page-limit 50 --item-bytes 2000 --fail dashboards:offset=200,looks:id=17:404',
  ]);
  command.run<LookerFlags>(runLooker);
}

function itemsOption(): Option {
  return new Option(
    '--items <counts>',
    `number of items as type=count,…; types: ${simulatedTypes.join(', ')}`,
  )
    .argParser(readItems)
    .default(readItems(smallCompany), 'a small company of all types');
}

async function runLooker(session: CliSession, flags: LookerFlags): Promise<ExitCode> {
  const { rateLimit, fail, latency, total, tokenLifetime, ...options } = flags;
  const { out, io } = session;
  const simulator = await simulateLooker({
    ...options,
    clock: io.clock,
    rateLimits: rateLimit,
    failures: fail,
    latencyMs: latency,
    hasTotal: total,
    tokenLifetimeMs: tokenLifetime * 1_000,
  });
  const { url, clientId, clientSecret } = simulator;
  return runSimulator(session, simulator, {
    calls: () => simulator.stats().total,
    facts: { client_id: clientId, client_secret: clientSecret },
    print: () => {
      out.line('A simulated Looker is ready. Its content and credentials are not real.');
      out.line();
      out.facts([
        ['LOOKER_BASE_URL', url],
        ['LOOKER_CLIENT_ID', clientId],
        ['LOOKER_CLIENT_SECRET', clientSecret],
      ]);
    },
  });
}

/** Runs until it is interrupted. Exit 0 after SIGTERM, 130 after Ctrl-C. */
async function runSimulator(
  { io, out }: CliSession,
  simulator: LookerSimulator | SimulatedModels['simulator'],
  texts: { readonly calls: () => number; readonly facts: object; readonly print: () => void },
): Promise<ExitCode> {
  const { url } = simulator;
  if (out.isJson) out.jsonLine({ state: 'ready', url, stats: `${url}/__stats`, ...texts.facts });
  else {
    texts.print();
    out.line();
    out.line(`Statistics: ${url}/__stats. Ctrl-C stops it.`);
  }
  const exitCode = await untilInterrupted(io);
  await simulator.stop();
  if (out.isJson) out.jsonLine({ state: 'stopped', stats: simulator.stats() });
  else out.note(`Stopped after ${counted(texts.calls(), 'call')}.`);
  return exitCode;
}

const maxItemsPerType = 10_000_000;

/** `dashboards=5000,looks=200` */
export function readItems(text: string): NonNullable<Looker['items']> {
  const counts = new Map<SimulatedType, number>();
  for (const part of parts(text)) {
    const [, name = '', count = ''] = /^([^=]*)=(\d{1,8})$/.exec(part) ?? [];
    const type = simulatedTypes.find((known) => known === name);
    if (type === undefined || Number(count) > maxItemsPerType)
      rejectValue(
        part,
        `type=count with a count from 0 to ${maxItemsPerType}, of ${simulatedTypes.join(', ')}`,
      );
    else counts.set(type, Number(count));
  }
  if ((counts.get('explores') ?? 0) > 0 && (counts.get('lookml_models') ?? 0) === 0)
    rejectValue(text, 'a list with lookml_models=1 or more, because explores belong to models');
  return Object.fromEntries(counts);
}

/** `600/min,20/s` */
export function readRateLimit(text: string): NonNullable<Looker['rateLimits']> {
  const limits: { perMinute?: number; perSecond?: number } = {};
  for (const part of parts(text)) {
    const [, count = '', unit] = /^(\d{1,7})\/(min|s)$/.exec(part) ?? [];
    if (unit === undefined || Number(count) < 1 || Number(count) > 1_000_000)
      rejectValue(part, 'R/min, R/s or both separated by a comma, with R from 1 to 1000000');
    limits[unit === 'min' ? 'perMinute' : 'perSecond'] = Number(count);
  }
  return limits;
}

/** Probability of a fault that names none. */
export const usualProbability = 0.02;

/** `429=0.05,slow=0.1:200,hang`: a name alone affects one call in fifty. */
export function readFaults(text: string): NonNullable<Looker['faults']> {
  const faults: Partial<Record<FaultName, FaultSetting>> = {};
  for (const part of parts(text)) {
    const [, given, odds, ms] = /^([^=:]*)(?:=(\d+(?:\.\d+)?)(?::(\d{1,7}))?)?$/.exec(part) ?? [];
    const probability = odds === undefined ? usualProbability : Number(odds);
    const name = faultNames.find((known) => known === given);
    if (name === undefined || probability > 1)
      rejectValue(
        part,
        `name, name=probability or name=probability:ms, probability from 0 to 1, of ${faultNames.join(', ')}`,
      );
    if (faults[name]) rejectValue(part, 'given once: this fault is in the list already');
    faults[name] = { probability, ...(ms === undefined ? {} : { ms: Number(ms) }) };
  }
  return faults;
}

/** `dashboards:offset=200,looks:id=17:404` */
export function readFailures(text: string): readonly PermanentFailure[] {
  return parts(text).map((part) => {
    const [, name, key = '', value = '', status] =
      /^([^:]*):(offset|id)=(.+?)(?::([45]\d\d))?$/.exec(part) ?? [];
    const type = simulatedTypes.find((known) => known === name);
    if (type === undefined || (key === 'offset' && !/^\d{1,9}$/.test(value)))
      return rejectValue(part, 'type:offset=N or type:id=ID, then :status from 400 to 599 if it is not 500');
    const place = key === 'offset' ? { offset: Number(value) } : { id: value };
    return { type, ...place, ...(status === undefined ? {} : { status: Number(status) }) };
  });
}

const parts = (text: string): readonly string[] => text.split(',').map((part) => part.trim());

function rejectValue(part: string, allowed: string): never {
  throw new InvalidArgumentError(`"${part}" must be ${allowed}.`);
}

const defaultModelsPort = 19_998;

interface ModelsFlags {
  readonly port: number;
  readonly scenario: string;
}

function registerModels(group: CliCommand): void {
  const command = group
    .command('models')
    .description('run simulated AI providers with the given limits and faults, until Ctrl-C')
    .option(
      '--port <port>',
      'port on 127.0.0.1; 0 for any free port',
      wholeNumber(0, 65_535),
      defaultModelsPort,
    )
    .requiredOption(
      '--scenario <file>',
      'providers and their behavior: a YAML or JSON file, see docs/guide/gateway-reference.md',
    )
    .addHelpText(
      'after',
      '\nGET /__stats counts requests. POST /__script scripts the next responses: ' +
        '{"model": "NAME", "script": [{"fault": 429, "hint": "retry-after", "seconds": 60}, "ok"]}.',
    );
  command.examples(['headworks simulate models --port 0 --scenario examples/models/scenario.yaml']);
  command.run<ModelsFlags>(runModels);
}

async function runModels(session: CliSession, { port, scenario }: ModelsFlags): Promise<ExitCode> {
  const { io, out } = session;
  const { simulator, providers } = await simulateModels({ port, scenarioFile: resolve(io.cwd, scenario) });
  const addressed = providers.map((provider) => ({
    ...provider,
    base_url: simulator.baseUrl(provider.name),
  }));
  return runSimulator(session, simulator, {
    calls: () => Object.values(simulator.stats().models).reduce((sum, { calls }) => sum + calls, 0),
    facts: { providers: addressed },
    print: () => {
      out.line('Simulated AI providers are ready. Their responses and keys are not real.');
      out.line();
      out.list(addressed, 'The scenario has no providers.', [
        ['provider', ({ name }) => name],
        'base_url',
        'models',
        ['keys', ({ keys }) => keys.join(', ') || 'any'],
      ]);
    },
  });
}
