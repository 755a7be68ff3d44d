// A provider that refuses a key is a degradation that a person must act on: recorded by model, repaired by a probe.
import type { EmittedEvent } from '../core/index.ts';
import type { ModelService, ModelView } from '../gateway/index.ts';
import type { Degradation, LedgerRecorder, RegisteredRepair, RepairOutcome } from '../ledger/index.ts';

/** The ledger's kind; the subject is the model's name, the cause `authentication` or `payment`. */
export const keyRefusedKind = 'gateway.key-rejected';

type Refusal = 'authentication' | 'payment';

const isRefusal = (outcome: unknown): outcome is Refusal =>
  outcome === 'authentication' || outcome === 'payment';

/** Gives every refused key to the ledger, one row per model. Listen with it to everything that happens. */
export function refusedKeyRecorder(
  ledger: LedgerRecorder,
  models: Pick<ModelService, 'listCallable' | 'keySourceOf'>,
): (event: EmittedEvent) => void {
  return ({ name, payload }) => {
    if (name !== 'gateway:attempt-finished' || !isRefusal(payload['outcome'])) return;
    // The key that was refused is not the one that the model has now.
    if (payload['isOutdated'] === true) return;
    void ledger.record(degradationOf(String(payload['model']), payload['outcome'], models));
  };
}

function degradationOf(
  name: string,
  cause: Refusal,
  models: Pick<ModelService, 'listCallable' | 'keySourceOf'>,
): Degradation {
  const model = models.listCallable().find((each) => each.name === name);
  const provider = model?.provider ?? 'its provider';
  const variable = model ? models.keySourceOf(model) : null;
  const key = variable === null ? 'a call without a key' : `a key in ${variable}`;
  const means =
    cause === 'authentication'
      ? 'it is wrong, or may not use this model'
      : 'it has no money or no quota left';
  const remedy =
    variable === null
      ? `Repeat its "headworks models add" with --replace and --env-var, the variable that holds its key.`
      : cause === 'authentication'
        ? `Put a good key there and start the server again.`
        : `Top up the account, or put another key there and start the server again.`;
  return {
    kind: keyRefusedKind,
    subject: name,
    cause,
    message:
      `${provider} refuses ${key} for ${name}: ${means}. ${remedy} ` +
      `Then "headworks models warm ${name}" and "headworks repair"; or "headworks models disable ${name}" to do without it.`,
    details: { provider, envVar: variable },
  };
}

/** Repaired once the provider takes every key of the model again; gone with the model, its key, or its being active. */
export function refusedKeyRepair(
  models: Pick<ModelService, 'listCallable' | 'get' | 'probe'>,
): RegisteredRepair {
  return {
    kind: keyRefusedKind,
    describe: 'Asks the model something cheap, once with each of its keys.',
    repair: async ({ subject }, signal) => {
      const found = models.listCallable().find(({ name }) => name === subject);
      if (!found) return { outcome: 'gone' };
      const model = await models.get(found.id);
      return (
        stillRefused(model) ??
        (await failedProbe(model, models, signal)) ??
        stillRefused(await models.get(found.id)) ?? { outcome: 'repaired' }
      );
    },
  };
}

/** A key that was refused is left alone for a while; that another one works does not make it good. */
function stillRefused({ name, cooldowns }: ModelView): RepairOutcome | undefined {
  const until = Math.max(0, ...cooldowns.filter(({ cause }) => isRefusal(cause)).map((each) => each.until));
  return until === 0
    ? undefined
    : stillBroken(
        `The refused key of ${name} is left alone until ${new Date(until).toISOString()}; ` +
          `"headworks models warm ${name}" lets it be tried at once.`,
      );
}

/** Keys take turns: as many probes as there are keys ask with each of them. */
async function failedProbe(
  { id, name, keyCount }: ModelView,
  models: Pick<ModelService, 'probe'>,
  signal: AbortSignal,
): Promise<RepairOutcome | undefined> {
  for (let turn = 0; turn < keyCount; turn++) {
    const [probe] = await models.probe([id], signal);
    if (probe?.outcome === 'success') continue;
    const reason = probe?.reason ?? 'no answer';
    return stillBroken(
      probe?.outcome === 'skipped'
        ? `${name} cannot be asked now: ${reason}.`
        : `${name} still fails: ${probe?.outcome ?? 'unknown'} (${reason}).`,
    );
  }
  return undefined;
}

const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });
