// A gateway on virtual time with scripted models: who was called when, who slept, what was written down.
import { CoreError, onAbort } from '../../src/core/index.ts';
import { VirtualClock } from './core/virtual-clock.ts';
import type { FailureClass } from '../../src/gateway/failure-classes.ts';
import type {
  CompletionRequest,
  Attempt,
  AttemptTimeouts,
  Cooldowns,
  GatewayRequest,
  ProviderKeys,
  Model,
  Cooldown,
  ModelDefinition,
  ProviderResponse,
  ProviderClient,
  ProviderFailure,
  ProviderStream,
  QuotaKeeper,
  CompletionResult,
  Tokens,
} from '../../src/gateway/ports.ts';
import { allKeys } from '../../src/gateway/ports.ts';
import type { RoutingPolicy } from '../../src/gateway/routing/index.ts';
import { createRouter, FailureBackoff } from '../../src/gateway/routing/index.ts';

/** Records its sleeps. */
export class SleepyClock extends VirtualClock {
  readonly sleeps: number[] = [];

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeps.push(ms);
    return super.sleep(ms, signal);
  }
}

/**
 * What a scripted model does with one call. Until a limit or the caller ends it, one that is `unreachable` takes no
 * connection, one that hangs says nothing, and one that is `silent` sends headers and no more.
 */
export type Deed =
  | 'answer'
  | keyof typeof limitOf
  | FailureClass
  | {
      readonly deed: 'answer' | FailureClass;
      readonly afterMs?: number;
      readonly hintMs?: number;
      readonly status?: number;
      readonly message?: string;
      readonly emptyForMs?: number;
    }
  | {
      readonly deed: 'stream';
      readonly afterMs?: number;
      readonly endsAfterMs: number;
      readonly broken?: FailureClass;
      readonly hintMs?: number;
    };

const limitOf = { unreachable: 'connectMs', hang: 'firstTokenMs', silent: 'idleMs' } as const;

const isEndless = (deed: Deed): deed is keyof typeof limitOf => typeof deed === 'string' && deed in limitOf;

/** By call number of that model, from 0, and by key; an array's last deed is repeated. */
export type Script = Deed | readonly Deed[] | ((call: number, keyId: string) => Deed);

export interface ScriptedModel {
  readonly name: string;
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
}

export interface MadeCall {
  readonly model: string;
  readonly key: string;
  readonly baseUrl: string;
  readonly atMs: number;
}

export const tokens: Tokens = { prompt: 10, completion: 5, isEstimated: false };

const unlimited: Pick<QuotaKeeper, 'take'> = {
  take: async () => ({ grant: { settle: () => undefined, refund: () => undefined } }),
};

/** As many keys as said, named `key-N` from `first` on; a brace in an address is a variable that is not set. */
export function scriptedKeys(countOf: (model: string) => number, first = 0): ProviderKeys {
  const keysOf = ({ name }: ModelDefinition) =>
    Array.from({ length: countOf(name) }, (_, index) => ({ id: `key-${index + first}`, secret: 'x' }));
  const keySourceOf = (model: ModelDefinition) => (keysOf(model).length > 0 ? model.envVar : null);
  return {
    keysOf,
    keySourceOf,
    baseUrlOf: ({ baseUrl }) => (baseUrl.includes('{') ? undefined : baseUrl),
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
  defaultCooldownMs: 3_600_000,
  connectMs: 5_000,
  firstTokenMs: 20_000,
  answerMs: 60_000,
  idleMs: 20_000,
};

export function modelOf(scripted: ScriptedModel, id: number): Model {
  const { name, upstream = name, isLocal = false, isActive = true, capabilities, quotas = {} } = scripted;
  return {
    id,
    name,
    provider: name.split('/')[0] ?? name,
    baseUrl: scripted.baseUrl ?? `https://${id}.example/v1`,
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
      embeddings: false,
      contextTokens: null,
      ...capabilities,
    },
    quotas,
    origin: 'added',
    createdAt: new Date(0),
  };
}

export function requestFor(model: string, differing: Partial<CompletionRequest> = {}): CompletionRequest {
  return {
    operation: 'chat',
    body: new Uint8Array(),
    modelSpans: [],
    model,
    isStream: false,
    choices: 1,
    needs: { tools: false, json: false, vision: false },
    estimatedTokens: 100,
    estimatedPromptTokens: 60,
    vectors: 0,
    dimensions: null,
    ...differing,
  };
}

/** Monotone, as the real ones are. */
export class MapCooldowns implements Pick<Cooldowns, 'of' | 'extend'> {
  readonly #clock: VirtualClock;
  readonly #kept = new Map<string, Cooldown>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  of(modelId: number, keyId: string): Cooldown | undefined {
    const both = [this.#kept.get(`${modelId} ${keyId}`), this.#kept.get(`${modelId} ${allKeys}`)];
    const active = both.filter((cooldown) => cooldown !== undefined && cooldown.until > this.#clock.now());
    return active.sort((a, b) => (b?.until ?? 0) - (a?.until ?? 0))[0];
  }

  extend(cooldown: Cooldown): void {
    const name = `${cooldown.modelId} ${cooldown.keyId}`;
    const kept = this.#kept.get(name);
    if (!kept || kept.until < cooldown.until) this.#kept.set(name, cooldown);
  }

  all(): readonly Cooldown[] {
    return [...this.#kept.values()];
  }
}

export class RoutingWorld {
  readonly clock = new SleepyClock();
  models: readonly Model[];
  readonly calls: MadeCall[] = [];
  readonly attempts: Attempt[] = [];
  readonly events: { readonly name: string; readonly payload: unknown }[] = [];
  readonly cooldowns = new MapCooldowns(this.clock);
  readonly resting = new FailureBackoff(this.clock);
  readonly limits: { readonly connectMs: number; readonly firstTokenMs: number }[] = [];
  readonly gateway: ReturnType<typeof createRouter>;
  readonly #scripted: readonly ScriptedModel[];
  readonly #startedAt = this.clock.monotonic();
  #requests = 0;

  constructor(
    scripted: readonly ScriptedModel[],
    differing: Partial<RoutingPolicy> = {},
    quotas: Pick<QuotaKeeper, 'take'> = unlimited,
  ) {
    this.#scripted = scripted;
    this.models = scripted.map((model, index) => modelOf(model, index + 1));
    this.gateway = createRouter({
      clock: this.clock,
      models: () => this.models,
      keys: scriptedKeys((name) => this.#scriptedOf(name).keys ?? 1, 1),
      cooldowns: this.cooldowns,
      scores: { of: (id) => this.#scoreOf(id) },
      resting: this.resting,
      quotas,
      provider: { call: (request) => this.#call(request) },
      attempts: { record: (attempt) => void this.attempts.push(attempt) },
      events: { emit: (name, payload) => void this.events.push({ name, payload }) },
      policy: { ...policy, ...differing },
    });
  }

  /** Asks, and runs virtual time until there is an end. */
  complete(model = 'auto', differing: Partial<GatewayRequest> = {}): Promise<CompletionResult> {
    return this.clock.run(this.begin(model, differing));
  }

  /** Asks without moving time. */
  begin(model = 'auto', differing: Partial<GatewayRequest> = {}): Promise<CompletionResult> {
    const speaking = this.gateway.complete({
      requestId: `request-${++this.#requests}`,
      ask: requestFor(model),
      caller: 'key:1',
      allowFallback: true,
      deadlineMs: 120_000,
      waitMs: 0,
      signal: new AbortController().signal,
      ...differing,
    });
    speaking.catch(() => undefined);
    return speaking;
  }

  /** What it failed with; fails itself when it did not. */
  async failure(model = 'auto', differing: Partial<GatewayRequest> = {}): Promise<Error> {
    const completion = await this.complete(model, differing).catch((error: Error) => error);
    if (completion instanceof Error) return completion;
    throw new Error(`${completion.model.name} answered.`);
  }

  callsOf(name: string): number {
    return this.calls.filter(({ model }) => model === name).length;
  }

  /** The names in the order of the calls. */
  get asked(): readonly string[] {
    return this.calls.map(({ model }) => model);
  }

  idOf(name: string): number {
    return this.models.find((model) => model.name === name)?.id ?? 0;
  }

  /** As a replace by hand does, or switching it off. */
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

  #scoreOf(id: number) {
    const tally = { requests: 0, successes: 0, averageSeconds: 0 };
    const score = this.#scripted[id - 1]?.score ?? 0.5;
    return {
      longTerm: tally,
      recent: tally,
      windowDays: 7,
      reliabilityScore: score,
      recentReliabilityScore: null,
      effectiveScore: score,
      decisionReason: '',
    };
  }

  #call: ProviderClient['call'] = async ({ model, baseUrl, key, limits, signal }) => {
    const number = this.callsOf(model.name);
    const atMs = this.clock.monotonic() - this.#startedAt;
    this.calls.push({ model: model.name, key: key.id, baseUrl, atMs });
    this.limits.push(limits);
    const script = this.#scriptedOf(model.name).script ?? 'answer';
    const deed = deedOf(script, number, key.id);
    if (isEndless(deed)) return this.#hang(limits, limitOf[deed], signal);
    const told = typeof deed === 'string' ? { deed } : deed;
    if ('afterMs' in told && told.afterMs !== undefined) {
      const tooLong = told.afterMs > limits.firstTokenMs;
      const end = await this.#wait(tooLong ? limits.firstTokenMs : told.afterMs, signal);
      if (end === 'aborted') return failureOf('canceled');
      if (tooLong) return { ...failureOf('timeout'), exceeded: 'firstTokenMs' };
    }
    if (told.deed === 'stream') return this.#stream(told, signal);
    if (told.deed !== 'answer')
      return failureOf(told.deed, 'hintMs' in told ? told : { ...told, hintMs: undefined });
    const emptyForMs = 'emptyForMs' in told ? told.emptyForMs : undefined;
    return answerOf(emptyForMs === undefined ? undefined : this.clock.now() + emptyForMs);
  };

  async #hang(
    limits: AttemptTimeouts,
    exceeded: keyof AttemptTimeouts,
    signal: AbortSignal,
  ): Promise<ProviderFailure> {
    const end = await this.#wait(limits[exceeded], signal);
    return end === 'aborted' ? failureOf('canceled') : { ...failureOf('timeout'), exceeded };
  }

  /** Not through `sleep`: those are the engine's. */
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
    { endsAfterMs, broken, hintMs }: Extract<Deed, { readonly deed: 'stream' }>,
    signal: AbortSignal,
  ): ProviderStream {
    const begunAt = this.clock.monotonic();
    const ended = this.#wait(endsAfterMs, signal).then((end) => ({
      failureClass: end === 'aborted' ? ('canceled' as const) : (broken ?? null),
      tokens,
      streamMs: this.clock.monotonic() - begunAt,
      hint: hintOf(hintMs),
    }));
    return {
      outcome: 'stream',
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

function deedOf(script: Script, call: number, keyId: string): Deed {
  if (typeof script === 'function') return script(call, keyId);
  if (!isList(script)) return script;
  return script[Math.min(call, script.length - 1)] ?? 'answer';
}

const isList = (script: Deed | readonly Deed[]): script is readonly Deed[] => Array.isArray(script);

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

const hintOf = (hintMs: number | undefined): ProviderFailure['hint'] =>
  hintMs === undefined ? undefined : { retryAfterMs: hintMs, source: 'retry-after' };

function failureOf(
  failureClass: FailureClass,
  { hintMs, status, message }: { hintMs?: number | undefined; status?: number; message?: string } = {},
): ProviderFailure {
  return {
    outcome: 'failure',
    failureClass,
    status: status ?? statuses[failureClass] ?? null,
    hint: hintOf(hintMs),
    message: message ?? null,
  };
}

function answerOf(emptyAt: number | undefined): ProviderResponse {
  return {
    outcome: 'answer',
    status: 200,
    contentType: 'application/json',
    body: new Uint8Array(),
    tokens,
    quotaExhaustedUntil: emptyAt === undefined ? undefined : { at: emptyAt, source: 'x-ratelimit-reset' },
  };
}
