// Probes: minimal requests that find out whether models work, on schedule or on demand. Rejected keys and failing models in
// the ledger; the gauge of model states, which alerts read.
import type { Clock, IdSource } from '../../core/index.ts';
import { HeadworksError, kindOf } from '../../core/index.ts';
import { every } from '../../core/clock.ts';
import type { Degradation, RegisteredRepair, RepairOutcome } from '../../ledger/index.ts';
import { parseRequest } from '../dialects/parse-request.ts';
import type { KeyRejection } from '../errors.ts';
import { GatewayError, isKeyRejection } from '../errors.ts';
import type { AttemptStore, ProbeSchedule } from '../stores.ts';
import type { CompletionOptions, CompletionRequest, CompletionResult, Model, ProbeResult } from '../types.ts';
import type { Models } from './model-service.ts';
import type { ModelView } from './model-view.ts';
import type { KeyLookup } from './provider-keys.ts';
import { describeMissing } from './provider-keys.ts';
import type { GaugeSpec } from '../../platform/telemetry/metrics.ts';
import type { Health } from '../state/model-health.ts';
import { modelStates } from './model-view.ts';

export interface ProbeDeps {
  readonly complete: (request: CompletionRequest, options: CompletionOptions) => Promise<CompletionResult>;
  readonly keys: Pick<KeyLookup, 'missingEnvVars'>;
  readonly ids: IdSource;
  /** Deadline of one probe, unless its model has a response timeout of its own. */
  readonly deadlineMs: number;
}

/** Enough for a short completion. OpenAI rejects less than 16. */
const probeTokens = 16;

/** Enough that one model that hangs does not delay the others. */
const concurrency = 8;

/**
 * In the given order. Probes respect cooldowns and quotas; models that may not be called now are `skipped`. Fails with
 * CANCELED once none is running.
 */
export async function probeModels(
  deps: ProbeDeps,
  models: readonly Model[],
  signal: AbortSignal,
): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = [];
  const waiting = models.entries();
  const worker = async (): Promise<void> => {
    for (const [index, model] of waiting) results[index] = await probeModel(deps, model, signal);
  };
  const workers = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  const failed = workers.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
  return results;
}

async function probeModel(deps: ProbeDeps, model: Model, signal: AbortSignal): Promise<ProbeResult> {
  const result = await probeOnce(deps, model, { max_tokens: probeTokens }, signal);
  // Some models reject that parameter (OpenAI's reasoning models): then it is sent without.
  return result.outcome === 'validation' && !model.capabilities.embeddings
    ? probeOnce(deps, model, {}, signal)
    : result;
}

async function probeOnce(
  deps: ProbeDeps,
  model: Model,
  limit: object,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const skipped = (reason: string): ProbeResult => ({
    model: model.name,
    outcome: 'skipped',
    reason,
    durationMs: null,
  });
  if (!model.isActive) return skipped('disabled');
  const { responseSeconds } = model.timeouts;
  const missing = deps.keys.missingEnvVars(model);
  if (missing.length > 0) return skipped(`needs ${describeMissing(missing)}`);
  try {
    const { durationMs } = await deps.complete(probeRequest(model, limit), {
      requestId: deps.ids.uuid(),
      caller: 'probe',
      allowFallback: false,
      maxRetries: 0,
      deadlineMs: responseSeconds === undefined ? deps.deadlineMs : responseSeconds * 1_000,
      waitMs: 0,
      signal,
    });
    return { model: model.name, outcome: 'success', reason: null, durationMs };
  } catch (error) {
    const tried = error instanceof GatewayError ? error.tried[0] : undefined;
    if (!tried) {
      if (!(error instanceof HeadworksError) || error.code === 'CANCELED') throw error;
      // No call was made: it was disabled meanwhile, or time ran out first.
      return skipped(error.message);
    }
    const { outcome, status, availableAt } = tried;
    if (outcome === 'not-tried') return skipped('no time left');
    if (outcome === 'unavailable') return skipped('disabled, deleted or replaced meanwhile');
    if (outcome === 'cooling-down')
      return skipped(
        `cooling down until ${availableAt === null ? 'soon' : new Date(availableAt).toISOString()}`,
      );
    const reason = status === null ? null : `responded with ${status}`;
    return { model: model.name, outcome, reason, durationMs: null };
  }
}

/** A completion cut off by the limit counts as success. */
function probeRequest(model: Model, limit: object): CompletionRequest {
  const isEmbedding = model.capabilities.embeddings;
  const body = isEmbedding
    ? { model: model.name, input: 'ping' }
    : { model: model.name, messages: [{ role: 'user', content: 'ping' }], ...limit };
  return parseRequest(isEmbedding ? 'embeddings' : 'chat', Buffer.from(JSON.stringify(body)));
}

/* ---- the schedule ---- */

/** Those without a call of a caller since then that says whether they work: the others need no probe. */
export async function idleModels(
  attempts: Pick<AttemptStore, 'lastCalls'>,
  models: readonly Model[],
  since: Date,
): Promise<readonly Model[]> {
  const withoutCallers = ['probe', 'manual'];
  const calls = await attempts.lastCalls({ models, since, limit: 1, withoutCallers });
  const busy = new Set(calls.map(({ modelId }) => modelId));
  return models.filter(({ id }) => !busy.has(id));
}

/** Probes of discovered models would cost money without a decision of an operator; on machines of our own they are free. */
export const isProbedOnSchedule = ({ origin, isLocal }: Model): boolean => origin !== 'discovered' || isLocal;

export interface HealthChecksDeps {
  readonly clock: Clock;
  readonly schedule: ProbeSchedule;
  readonly intervalMs: number;
  readonly probeIdle: (signal: AbortSignal) => Promise<unknown>;
  readonly onFailure: (cause: string) => void;
}

/** How often the schedule is checked; with a short interval, four times per interval. */
const checkEveryMs = 30_000;

/** Probes idle models on schedule. The returned function stops it and cancels running probes. */
export function startHealthChecks(deps: HealthChecksDeps): () => Promise<void> {
  const { clock, schedule, intervalMs } = deps;
  return startChecks({
    ...deps,
    everyMs: Math.min(checkEveryMs, intervalMs / 4),
    check: async (signal) => {
      const isClaimed = await schedule.claim(clock.now(), intervalMs);
      if (isClaimed && !signal.aborted) await deps.probeIdle(signal);
    },
  });
}

export interface ChecksDeps {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly check: (signal: AbortSignal) => Promise<void>;
  readonly onFailure: (cause: string) => void;
}

/** Checks at once and then regularly, one check at a time. The returned function stops it and cancels a running one. */
export function startChecks({ clock, everyMs, check, onFailure }: ChecksDeps): () => Promise<void> {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    try {
      await check(stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) onFailure(kindOf(error));
    }
  };
  let checking = run();
  const stop = every(clock, everyMs, () => (checking = checking.then(run)));
  return async () => {
    stopping.abort();
    stop();
    await checking;
  };
}

/* ---- rejected keys: recorded by model, repaired by a probe ---- */

/** The ledger kind; the subject is the model's name, the cause `authentication` or `payment`. */
export const keyRejectedKind = 'gateway.key-rejected';

/** One ledger row per model. */
export function keyRejected(
  { name, provider }: Model,
  cause: KeyRejection,
  /** The variable that holds the key; null without one. */
  variable: string | null,
): Degradation {
  const key = variable === null ? 'a call without a key' : `a key in ${variable}`;
  const explanation =
    cause === 'authentication'
      ? 'it is invalid, or may not use this model'
      : 'it has no credit or quota left';
  const remedy =
    variable === null
      ? `Repeat its "headworks models create" with --replace and --env-var, the variable that holds its key.`
      : cause === 'authentication'
        ? `Set a valid key there and restart the server.`
        : `Add credit to the account, or set another key there and restart the server.`;
  return {
    kind: keyRejectedKind,
    subject: name,
    cause,
    message:
      `${provider} rejects ${key} for ${name}: ${explanation}. ${remedy} ` +
      `Then run "headworks models clear-cooldown ${name}" and "headworks repair"; or "headworks models disable ${name}" to stop using it.`,
    details: { provider, env_var: variable },
  };
}

/** Repaired once the provider accepts every key of the model; gone when the model is no longer callable. */
export function rejectedKeyRepair(models: Pick<Models, 'listCallable' | 'get' | 'probe'>): RegisteredRepair {
  return {
    kind: keyRejectedKind,
    describe: 'Probes the model once with each of its keys.',
    repair: async ({ subject }, signal) => {
      const found = models.listCallable().find(({ name }) => name === subject);
      if (!found) return { outcome: 'gone' };
      const model = await models.get(found.id);
      return (
        coolingDown(model) ??
        (await failedProbe(model, models, signal)) ??
        coolingDown(await models.get(found.id)) ?? { outcome: 'repaired' }
      );
    },
  };
}

/** A rejected key is cooling down; that another key works does not repair it. */
function coolingDown({ name, cooldowns }: ModelView): RepairOutcome | undefined {
  const until = Math.max(
    0,
    ...cooldowns.filter(({ cause }) => isKeyRejection(cause)).map((each) => each.until.getTime()),
  );
  return until === 0
    ? undefined
    : stillBroken(
        `The rejected key of ${name} is cooling down until ${new Date(until).toISOString()}; ` +
          `"headworks models clear-cooldown ${name}" clears that.`,
      );
}

/** Keys rotate: as many probes as there are keys use each of them once. */
async function failedProbe(
  { id, name, keyCount }: ModelView,
  models: Pick<Models, 'probe'>,
  signal: AbortSignal,
): Promise<RepairOutcome | undefined> {
  for (let turn = 0; turn < keyCount; turn++) {
    const [probe] = await models.probe([id], signal);
    if (probe?.outcome === 'success') continue;
    const reason = probe?.reason ?? 'no response';
    return stillBroken(
      probe?.outcome === 'skipped'
        ? `${name} cannot be called now: ${reason}.`
        : `${name} still fails: ${probe?.outcome ?? 'unknown'} (${reason}).`,
    );
  }
  return undefined;
}

const stillBroken = (reason: string): RepairOutcome => ({ outcome: 'still-broken', reason });

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
        .filter((each) => each !== 'retired' && each !== 'disabled' && each !== 'no-key')
        .map((each) => ({ labels: { model, operation, state: each }, value: each === state ? 1 : 0 })),
    ),
});
