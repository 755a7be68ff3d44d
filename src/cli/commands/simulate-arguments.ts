// Lists on the command line of headworks simulate: items, limits, faults, failures.
import { InvalidArgumentError } from 'commander';
import type {
  FaultName,
  FaultSetting,
  LookerSimulatorOptions,
  PermanentFailure,
  SimulatedType,
} from '../../app/simulate.ts';
import { faultNames, simulatedTypes } from '../../app/simulate.ts';

const mostItems = 10_000_000;

/** `dashboards=5000,looks=200` */
export function readItems(text: string): NonNullable<LookerSimulatorOptions['items']> {
  const counts = new Map<SimulatedType, number>();
  for (const part of parts(text)) {
    const [, name = '', count = ''] = /^([^=]*)=(\d{1,8})$/.exec(part) ?? [];
    const type = simulatedTypes.find((known) => known === name);
    if (type === undefined || Number(count) > mostItems)
      refuse(part, `type=count with a count from 0 to ${mostItems}, of ${simulatedTypes.join(', ')}`);
    else counts.set(type, Number(count));
  }
  if ((counts.get('explores') ?? 0) > 0 && (counts.get('lookml_models') ?? 0) === 0)
    refuse(text, 'a list with lookml_models=1 or more, because explores belong to models');
  return Object.fromEntries(counts);
}

/** `600/min,20/s` */
export function readRateLimit(text: string): NonNullable<LookerSimulatorOptions['rateLimits']> {
  const limits: { perMinute?: number; perSecond?: number } = {};
  for (const part of parts(text)) {
    const [, count = '', unit] = /^(\d{1,7})\/(min|s)$/.exec(part) ?? [];
    if (unit === undefined || Number(count) < 1 || Number(count) > 1_000_000)
      refuse(part, 'R/min, R/s or both separated by a comma, with R from 1 to 1000000');
    limits[unit === 'min' ? 'perMinute' : 'perSecond'] = Number(count);
  }
  return limits;
}

/** How often a fault strikes that is only named. */
export const usualProbability = 0.02;

/** `429=0.05,slow=0.1:200,hang`: a name alone strikes one call in fifty. */
export function readFaults(text: string): NonNullable<LookerSimulatorOptions['faults']> {
  const faults: Partial<Record<FaultName, FaultSetting>> = {};
  for (const part of parts(text)) {
    const [, given, odds, ms] = /^([^=:]*)(?:=(\d+(?:\.\d+)?)(?::(\d{1,7}))?)?$/.exec(part) ?? [];
    const probability = odds === undefined ? usualProbability : Number(odds);
    const name = faultNames.find((known) => known === given);
    if (name === undefined || probability > 1)
      refuse(
        part,
        `name, name=probability or name=probability:ms, probability from 0 to 1, of ${faultNames.join(', ')}`,
      );
    if (faults[name]) refuse(part, 'given once: this fault is in the list already');
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
      return refuse(part, 'type:offset=N or type:id=ID, then :status from 400 to 599 if it is not 500');
    const place = key === 'offset' ? { offset: Number(value) } : { id: value };
    return { type, ...place, ...(status === undefined ? {} : { status: Number(status) }) };
  });
}

const parts = (text: string): readonly string[] => text.split(',').map((part) => part.trim());

function refuse(part: string, allowed: string): never {
  throw new InvalidArgumentError(`"${part}" must be ${allowed}.`);
}
