// A router on virtual time with scripted models: records calls, sleeps, attempts and events.
import { VirtualClock } from '../core/virtual-clock.ts';
import { CoreError, onAbort } from '../../../src/core/index.ts';
import type { FailureClass } from '../../../src/gateway/errors.ts';
import type {
  CompletionRequest,
  Attempt,
  AttemptTimeouts,
  CompletionOptions,
  FailedRequest,
  Model,
  Cooldown,
  ModelDefinition,
  ProviderResponse,
  ProviderFailure,
  ProviderStream,
  CompletionResult,
  TokenUsage,
} from '../../../src/gateway/types.ts';
import type { Cooldowns } from '../../../src/gateway/state/availability.ts';
import type { KeyLookup } from '../../../src/gateway/models/provider-keys.ts';
import type { ProviderClient } from '../../../src/gateway/providers/provider-client.ts';
import type { RoutingPolicy } from '../../../src/gateway/routing/routed-request.ts';
import type { RouterDeps } from '../../../src/gateway/routing/router.ts';
import { Router } from '../../../src/gateway/routing/router.ts';
import { CooldownMap, FailureBackoff, Trials } from '../../../src/gateway/state/availability.ts';
import type { ScoreLookup } from '../../../src/gateway/state/scores.ts';
import { priorScore } from '../../../src/gateway/state/scores.ts';

/** Records its sleeps. */
export class RecordingClock extends VirtualClock {
  readonly sleeps: number[] = [];

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps.push(ms);
    return super.sleep(ms, signal);
  }
}

/**
 * What a scripted model does with one call. Until a timeout or an abort, `unreachable` accepts no connection, `hang`
 * sends nothing, and `silent` sends headers only.
 */
export type ScriptedCall =
  | 'respond'
  | keyof typeof timeoutOf
  | FailureClass
  | {
      readonly does: 'respond' | FailureClass;
      readonly afterMs?: number;
      readonly hintMs?: number;
      readonly status?: number;
      readonly message?: string;
      readonly exhaustedForMs?: number;
    }
  | {
      readonly does: 'stream';
      readonly afterMs?: number;
      readonly endsAfterMs: number;
      readonly broken?: FailureClass;
      readonly hintMs?: number;
    };

const timeoutOf = { unreachable: 'connectMs', hang: 'firstTokenMs', silent: 'idleMs' } as const;

const isEndless = (call: ScriptedCall): call is keyof typeof timeoutOf =>
  typeof call === 'string' && call in timeoutOf;

/** By call number of that model, from 0, and by key; the last element of an array is repeated. */
export type Script = ScriptedCall | readonly ScriptedCall[] | ((call: number, keyId: string) => ScriptedCall);

export interface ScriptedModel {
  readonly name: string;
  readonly origin?: Model['origin'];
  readonly script?: Script;
  readonly score?: number;
  readonly upstream?: string;
  readonly keys?: number;
  readonly isLocal?: boolean;
  readonly isActive?: boolean;
  readonly envVar?: string;
  readonly baseUrl?: string;
  readonly capabilities?: Partial<Model['capabilities']>;
  readonly quotas?: Model['quotas'];
  readonly timeouts?: Model['timeouts'];
  readonly price?: Model['price'];
}

export interface MadeCall {
  readonly model: string;
  readonly key: string;
  readonly baseUrl: string;
  readonly atMs: number;
}

export const tokens: TokenUsage = {
  prompt: 10,
  completion: 5,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  isEstimated: false,
};

const grant = { settle: () => undefined, refund: () => undefined };
const unlimited: RouterDeps['quotas'] = { take: async () => ({ grant }), takeUnlimited: () => grant };

/** Keys named `key-N` from `first` on; a variable in a base URL counts as not set. */
type Endpoint = Pick<ModelDefinition, 'envVar' | 'baseUrl' | 'isLocal'>;

export function scriptedKeys(countOf: (model: string) => number, first = 0): KeyLookup {
  const keysOf = (model: Endpoint) =>
    Array.from({ length: countOf((model as ModelDefinition).name) }, (_, index) => ({
      id: `key-${index + first}`,
      secret: 'x',
    }));
  const baseUrlOf = ({ baseUrl }: Pick<Endpoint, 'baseUrl'>) => (baseUrl.includes('{') ? undefined : baseUrl);
  const keySourceOf = (model: Pick<Endpoint, 'envVar'>) =>
    keysOf(model as Endpoint).length > 0 ? model.envVar : null;
  return {
    keysOf,
    keySourceOf,
    baseUrlOf,
    isConfigured: (model) => keysOf(model).length > 0 && baseUrlOf(model) !== undefined,
    missingEnvVars: (model) => {
      const variables = [...model.baseUrl.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      if (keySourceOf(model) === null && model.envVar !== null) variables.unshift(model.envVar);
      return variables.length === 0 ? [] : [variables];
    },
  };
}

const policy: RoutingPolicy = {
  maxRetries: 10,
  retryDelayMs: 10_000,
  retryOrder: 'rounds',
  rateLimitPausesMs: [3_600_000],
  connectMs: 5_000,
  firstTokenMs: 20_000,
  responseMs: 60_000,
  idleMs: 20_000,
  aliases: new Map(),
  modelOrder: [],
};

/** Of models with the ids 1, 2, …; one without a score has no history. */
export const scriptedScores = (scripted: readonly ScriptedModel[]): ScoreLookup => ({
  of: (id) => {
    const given = scripted[id - 1]?.score;
    const stats = {
      requests: given === undefined ? 0 : 1,
      successes: 0,
      averageSeconds: 0,
      typicalSeconds: 0,
    };
    const score = given ?? priorScore;
    return {
      longTerm: stats,
      recent: stats,
      windowDays: 7,
      reliabilityScore: score,
      recentReliabilityScore: null,
      effectiveScore: score,
      decisionReason: '',
    };
  },
});

export function modelOf(scripted: ScriptedModel, id: number): Model {
  const { name, upstream = name, isLocal = false, isActive = true, capabilities, quotas = {} } = scripted;
  return {
    id,
    name,
    provider: name.split('/')[0] ?? name,
    baseUrl: scripted.baseUrl ?? `https://${id}.example/v1`,
    apis: ['chat'],
    keyHeader: 'authorization',
    upstreamModel: upstream,
    envVar: scripted.envVar ?? `KEY_${id}`,
    headers: {},
    isLocal,
    isActive,
    capabilities: {
      streaming: true,
      tools: true,
      json: true,
      vision: true,
      reasoning: false,
      embeddings: false,
      endpoints: [],
      contextTokens: null,
      maxOutputTokens: null,
      ...capabilities,
    },
    quotas,
    price: scripted.price ?? null,
    timeouts: scripted.timeouts ?? {},
    origin: scripted.origin ?? 'custom',
    missedLists: 0,
    retiredAt: null,
    createdAt: new Date(0),
  };
}

export function requestFor(model: string, differing: Partial<CompletionRequest> = {}): CompletionRequest {
  return {
    operation: 'chat',
    api: 'chat',
    contentType: 'application/json',
    headers: {},
    body: new Uint8Array(),
    modelSpans: [],
    model,
    isStream: false,
    choiceCount: 1,
    requires: { tools: false, json: false, vision: false },
    estimatedTokens: 100,
    estimatedPromptTokens: 60,
    vectorCount: 0,
    dimensions: null,
    decode: () => {
      throw new Error('not decodable');
    },
    ...differing,
  };
}

/** Cooldowns without a store. */
export class MapCooldowns implements Pick<Cooldowns, 'of' | 'extend' | 'trials'> {
  readonly trials: Trials;
  readonly #clock: VirtualClock;
  readonly #map = new CooldownMap();
  readonly #modelIds = new Set<number>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.trials = new Trials(clock, this.#map);
  }

  of(modelId: number, keyId: string): Cooldown | undefined {
    return this.#map.active(modelId, keyId, this.#clock);
  }

  extend(cooldown: Cooldown): void {
    this.#modelIds.add(cooldown.modelId);
    this.#map.extend(cooldown);
  }

  /** Those that have ended, too, until a call has shown that their cause is gone. */
  all(): readonly Cooldown[] {
    return [...this.#modelIds].flatMap((id) => this.#map.ofModel(id));
  }
}

/** Options that differ from the defaults, and the request if it is not a plain one. */
export type RequestOptions = Partial<CompletionOptions> & { readonly request?: CompletionRequest };

export class RoutingWorld {
  readonly clock = new RecordingClock();
  models: readonly Model[];
  readonly calls: MadeCall[] = [];
  readonly attempts: Attempt[] = [];
  readonly failedRequests: FailedRequest[] = [];
  /** Keys that were reported as rejected, by model. */
  readonly rejectedKeys: string[] = [];
  readonly events: { readonly name: string; readonly payload: unknown }[] = [];
  readonly cooldowns = new MapCooldowns(this.clock);
  readonly backoff: FailureBackoff;
  readonly timeouts: { readonly connectMs: number; readonly firstTokenMs: number }[] = [];
  readonly router: Router;
  readonly #scripted: readonly ScriptedModel[];
  readonly #startedAt = this.clock.monotonic();
  #requests = 0;

  constructor(
    scripted: readonly ScriptedModel[],
    differing: Partial<RoutingPolicy> = {},
    quotas: RouterDeps['quotas'] = unlimited,
  ) {
    this.#scripted = scripted;
    const used = { ...policy, ...differing };
    this.backoff = new FailureBackoff(this.clock, used.rateLimitPausesMs);
    this.models = scripted.map((model, index) => modelOf(model, index + 1));
    this.router = new Router({
      clock: this.clock,
      models: () => this.models,
      keys: scriptedKeys((name) => this.#scriptedOf(name).keys ?? 1, 1),
      cooldowns: this.cooldowns,
      scores: scriptedScores(scripted),
      backoff: this.backoff,
      quotas,
      provider: {
        call: (request) => this.#call(request),
        canSend: ({ isStream }) => !isStream,
        send: (call, onOutcome) => {
          const canceling = new AbortController();
          void this.#call({ ...call, signal: canceling.signal }).then(onOutcome);
          return () => canceling.abort();
        },
      },
      attempts: {
        record: (attempt) => {
          this.attempts.push(attempt);
          return attempt;
        },
        recordFailedRequest: (request) => void this.failedRequests.push(request),
      },
      events: { emit: (name, payload) => void this.events.push({ name, payload }) },
      onKeyRejected: ({ name }, cause) => void this.rejectedKeys.push(`${name} ${cause}`),
      policy: used,
    });
  }

  /** Sends a request and runs virtual time until it ends. */
  complete(model = 'auto', given: RequestOptions = {}): Promise<CompletionResult> {
    return this.clock.run(this.begin(model, given));
  }

  /** Sends a request without moving time. */
  begin(model = 'auto', { request, ...differing }: RequestOptions = {}): Promise<CompletionResult> {
    const completing = this.router.complete(request ?? requestFor(model), {
      requestId: `request-${++this.#requests}`,
      caller: 'key:1',
      allowFallback: true,
      deadlineMs: 120_000,
      waitMs: 0,
      signal: new AbortController().signal,
      ...differing,
    });
    completing.catch(() => undefined);
    return completing;
  }

  /** The error of a request; fails if it succeeds. */
  async failure(model = 'auto', given: RequestOptions = {}): Promise<Error> {
    const result = await this.complete(model, given).catch((error: Error) => error);
    if (result instanceof Error) return result;
    throw new Error(`${result.model.name} responded.`);
  }

  callsOf(name: string): number {
    return this.calls.filter(({ model }) => model === name).length;
  }

  /** Model names in the order of the calls. */
  get called(): readonly string[] {
    return this.calls.map(({ model }) => model);
  }

  idOf(name: string): number {
    return this.models.find((model) => model.name === name)?.id ?? 0;
  }

  /** Changes a model, as an operator does. */
  replace(name: string, change: Partial<Omit<Model, 'id'>>): void {
    this.models = this.models.map((model) => (model.name === name ? { ...model, ...change } : model));
  }

  cool(name: string, forMs: number, cause: Cooldown['cause'] = 'rate-limit', keyId = 'key-1'): void {
    const now = this.clock.now();
    const modelId = this.idOf(name);
    this.cooldowns.extend({
      modelId,
      keyId,
      until: now + forMs,
      cause,
      source: 'test',
      reason: null,
      setAt: now,
    });
  }

  #scriptedOf(name: string): ScriptedModel {
    const scripted = this.#scripted.find((model) => model.name === name);
    if (!scripted) throw new Error(`There is no ${name}.`);
    return scripted;
  }

  #call: ProviderClient['call'] = async ({ model, baseUrl, key, timeouts, signal }) => {
    const number = this.callsOf(model.name);
    const atMs = this.clock.monotonic() - this.#startedAt;
    this.calls.push({ model: model.name, key: key.id, baseUrl, atMs });
    this.timeouts.push(timeouts);
    const script = this.#scriptedOf(model.name).script ?? 'respond';
    const scriptedCall = callOf(script, number, key.id);
    if (isEndless(scriptedCall)) return this.#hang(timeouts, timeoutOf[scriptedCall], signal);
    const behavior = typeof scriptedCall === 'string' ? { does: scriptedCall } : scriptedCall;
    if ('afterMs' in behavior && behavior.afterMs !== undefined) {
      const tooLong = behavior.afterMs > timeouts.firstTokenMs;
      const end = await this.#wait(tooLong ? timeouts.firstTokenMs : behavior.afterMs, signal);
      if (end === 'aborted') return failureOf('canceled');
      if (tooLong) return { ...failureOf('timeout'), exceeded: 'firstTokenMs' };
    }
    if (behavior.does === 'stream') return this.#stream(behavior, signal);
    if (behavior.does !== 'respond')
      return failureOf(behavior.does, 'hintMs' in behavior ? behavior : { ...behavior, hintMs: undefined });
    const exhaustedForMs = 'exhaustedForMs' in behavior ? behavior.exhaustedForMs : undefined;
    return responseOf(exhaustedForMs === undefined ? undefined : this.clock.now() + exhaustedForMs);
  };

  async #hang(
    timeouts: AttemptTimeouts,
    exceeded: keyof AttemptTimeouts,
    signal: AbortSignal,
  ): Promise<ProviderFailure> {
    const end = await this.#wait(timeouts[exceeded], signal);
    return end === 'aborted' ? failureOf('canceled') : { ...failureOf('timeout'), exceeded };
  }

  /** Not through `sleep`, which records the router's sleeps. */
  #wait(ms: number, signal: AbortSignal): Promise<'over' | 'aborted'> {
    return new Promise((resolve) => {
      const stop = this.clock.after(ms, () => resolve('over'));
      onAbort(signal, () => {
        stop();
        resolve('aborted');
      });
    });
  }

  #stream(
    { endsAfterMs, broken, hintMs }: Extract<ScriptedCall, { readonly does: 'stream' }>,
    signal: AbortSignal,
  ): ProviderStream {
    const begunAt = this.clock.monotonic();
    const ended = this.#wait(endsAfterMs, signal).then((end) => ({
      failureClass: end === 'aborted' ? ('canceled' as const) : (broken ?? null),
      tokens,
      streamMs: this.clock.monotonic() - begunAt,
      retryHint: hintOf(hintMs),
    }));
    return {
      kind: 'stream',
      status: 200,
      contentType: 'text/event-stream',
      head: [],
      rest: (async function* () {
        const { failureClass } = await ended;
        if (failureClass) throw new CoreError('INTERNAL', 'broken');
        yield new Uint8Array();
      })(),
      ended,
      quotaExhaustedUntil: undefined,
    };
  }
}

function callOf(script: Script, call: number, keyId: string): ScriptedCall {
  if (typeof script === 'function') return script(call, keyId);
  if (!isList(script)) return script;
  return script[Math.min(call, script.length - 1)] ?? 'respond';
}

const isList = (script: ScriptedCall | readonly ScriptedCall[]): script is readonly ScriptedCall[] =>
  Array.isArray(script);

const statuses: Partial<Record<FailureClass, number>> = {
  'rate-limit': 429,
  'server-error': 503,
  authentication: 401,
  payment: 402,
  validation: 400,
  'context-too-long': 400,
  'content-refused': 400,
  'not-found': 404,
  'invalid-response': 200,
};

const hintOf = (hintMs: number | undefined): ProviderFailure['retryHint'] =>
  hintMs === undefined ? undefined : { retryAfterMs: hintMs, source: 'retry-after' };

function failureOf(
  failureClass: FailureClass,
  { hintMs, status, message }: { hintMs?: number | undefined; status?: number; message?: string } = {},
): ProviderFailure {
  return {
    kind: 'failure',
    failureClass,
    status: status ?? statuses[failureClass] ?? null,
    retryHint: hintOf(hintMs),
    message: message ?? null,
  };
}

function responseOf(exhaustedAt: number | undefined): ProviderResponse {
  return {
    kind: 'response',
    status: 200,
    contentType: 'application/json',
    body: new Uint8Array(),
    tokens,
    quotaExhaustedUntil:
      exhaustedAt === undefined ? undefined : { at: exhaustedAt, source: 'x-ratelimit-reset' },
  };
}
