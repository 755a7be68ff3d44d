// Models that fail: a ledger row until they work again, and the gauge that alerts read.
import type { Degradation, RegisteredRepair } from '../../ledger/index.ts';
import type { GaugeSpec } from '../../platform/telemetry/metrics.ts';
import type { Health } from '../state/model-health.ts';
import type { Model } from '../types.ts';
import type { Models } from './model-service.ts';
import { modelStates } from './model-view.ts';

/** The ledger kind; the subject is the model's name, the cause the failure class of its last call. */
export const modelFailingKind = 'gateway.model-failing';

export function modelFailing(
  { name, provider }: Model,
  { lastFailure, requests, successes }: Health,
): Degradation {
  return {
    kind: modelFailingKind,
    subject: name,
    cause: lastFailure ?? 'unknown',
    message:
      `Most calls to ${name} fail, the last one with ${lastFailure ?? 'an unknown failure'}; ${successes} of ${requests} ` +
      `requests of the last 15 minutes succeeded. Check ${provider} and the network to it ("headworks models explain ${name}" ` +
      `lists the calls), or run "headworks models disable ${name}" to stop using it.`,
    details: { provider },
  };
}

/** Enough successes in a row end the state `failing`. */
const maxProbes = 3;

/** Repaired once the model works again, by requests or by probes; gone when it is no longer callable. */
export function failingModelRepair(models: Pick<Models, 'listCallable' | 'get' | 'probe'>): RegisteredRepair {
  return {
    kind: modelFailingKind,
    describe: 'Probes the model up to three times.',
    repair: async ({ subject }, signal) => {
      const found = models.listCallable().find(({ name }) => name === subject);
      if (!found) return { outcome: 'gone' };
      for (let probes = 0; ; probes++) {
        const { health } = await models.get(found.id);
        if (!health.isFailing) return { outcome: 'repaired' };
        const [probe] = probes < maxProbes ? await models.probe([found.id], signal) : [];
        if (probe?.outcome === 'success') continue;
        const reason = probe?.reason ?? probe?.outcome ?? health.lastFailure;
        return { outcome: 'still-broken', reason: `${subject} still fails: ${reason ?? 'no response'}.` };
      }
    },
  };
}

/** One series per callable model and state: 1 for the state that it is in. */
export const modelStateGauge = (models: Pick<Models, 'callableStates'>): GaugeSpec => ({
  name: 'headworks_gateway_model_state',
  help: 'State of enabled models that have a key: 1 for the current state, 0 for the others.',
  labels: ['model', 'operation', 'state'],
  collect: async () =>
    (await models.callableStates()).flatMap(({ model, operation, state }) =>
      modelStates
        .filter((each) => each !== 'disabled' && each !== 'no-key')
        .map((each) => ({ labels: { model, operation, state: each }, value: each === state ? 1 : 0 })),
    ),
});
