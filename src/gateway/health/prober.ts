// Asks models something cheap, to learn whether they are up. Probes keep cooldowns and quotas like everybody.
import type { IdSource } from '../../core/index.ts';
import { HeadworksError } from '../../core/index.ts';
import { parseRequest } from '../calling/index.ts';
import type { ProbeResult } from '../desk-ports.ts';
import { GatewayError } from '../errors.ts';
import type { Gateway, ProviderKeys, Model } from '../ports.ts';
import { describeMissing } from '../providers/index.ts';

export interface ProberParts {
  readonly gateway: Gateway;
  readonly keys: ProviderKeys;
  readonly ids: IdSource;
  /** The longest one probe may take. */
  readonly deadlineMs: number;
}

/** Enough for a short answer. With less, some refuse to begin: OpenAI wants at least 16. */
const answerTokens = 16;

/** Probes at the same time: enough that one that hangs does not hold up the rest. */
const atOnce = 8;

/** In the order given. Models that may not be asked now are `skipped`. Fails with CANCELED, once none is under way. */
export async function probeModels(
  parts: ProberParts,
  models: readonly Model[],
  signal: AbortSignal,
): Promise<readonly ProbeResult[]> {
  const results: ProbeResult[] = [];
  const waiting = models.entries();
  const lane = async (): Promise<void> => {
    for (const [index, model] of waiting) results[index] = await probe(parts, model, signal);
  };
  const lanes = await Promise.allSettled(Array.from({ length: atOnce }, lane));
  const failed = lanes.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
  return results;
}

async function probe(parts: ProberParts, model: Model, signal: AbortSignal): Promise<ProbeResult> {
  const result = await ask(parts, model, { max_tokens: answerTokens }, signal);
  // It may know that limit by another name, or none at all (OpenAI's models that think): then it is asked without.
  return result.outcome === 'validation' && !model.capabilities.embeddings
    ? ask(parts, model, {}, signal)
    : result;
}

async function ask(
  parts: ProberParts,
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
  const missing = parts.keys.missingEnvVars(model);
  if (missing.length > 0) return skipped(`needs ${describeMissing(missing)}`);
  try {
    const { durationMs } = await parts.gateway.complete({
      requestId: parts.ids.uuid(),
      ask: question(model, limit),
      caller: 'probe',
      allowFallback: false,
      maxRetries: 0,
      deadlineMs: parts.deadlineMs,
      waitMs: 0,
      signal,
    });
    return { model: model.name, outcome: 'success', reason: null, durationMs };
  } catch (error) {
    const tried = error instanceof GatewayError ? error.tried[0] : undefined;
    if (!tried) {
      if (!(error instanceof HeadworksError) || error.code === 'CANCELED') throw error;
      // Nobody was asked: it was disabled a moment ago, or time was up before its turn.
      return skipped(error.message);
    }
    const { outcome, status, availableAt } = tried;
    if (outcome === 'unasked') return skipped('there was no time left to ask it');
    if (outcome === 'gone') return skipped('it was disabled, removed or replaced meanwhile');
    if (outcome === 'cooling')
      return skipped(`cooling until ${availableAt === null ? 'soon' : new Date(availableAt).toISOString()}`);
    return {
      model: model.name,
      outcome,
      reason: status === null ? null : `answered ${status}`,
      durationMs: null,
    };
  }
}

/** A word in, a few out. One that thinks until its limit and says nothing has answered all the same. */
function question(model: Model, limit: object) {
  const isEmbedding = model.capabilities.embeddings;
  const body = isEmbedding
    ? { model: model.name, input: 'ping' }
    : { model: model.name, messages: [{ role: 'user', content: 'ping' }], ...limit };
  return parseRequest(isEmbedding ? 'embeddings' : 'chat', Buffer.from(JSON.stringify(body)));
}
