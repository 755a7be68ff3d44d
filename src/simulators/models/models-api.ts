// Answers calls to simulated providers: finds the model, lets its faults happen, else speaks.
import type { Clock } from '../../core/index.ts';
import { mixed, textHash } from '../chance.ts';
import { completionOf, eventsOf, usageOf } from './chat-answer.ts';
import type { ChatAnswerParts } from './chat-answer.ts';
import { embeddingsOf, hasGoodDimensions, inputsOf } from './embeddings-answer.ts';
import type { EmbeddingsRequest } from './embeddings-answer.ts';
import { ModelBehaviour } from './model-behaviour.ts';
import type { Fault, ModelsSimulatorStats, Scenario, SimulatedProvider, Step } from './ports.ts';
import { refusalOf } from './refusals.ts';
import type { ChatRequest } from './speech.ts';
import { speechOf } from './speech.ts';

export interface ApiCall {
  /** Null: any provider that has the model. */
  readonly provider: string | null;
  readonly operation: 'chat/completions' | 'embeddings';
  readonly key: string | null;
  readonly body: unknown;
}

/** Pieces of an answer, so many milliseconds after the one before; then its end, or what happens instead. */
export interface Reply {
  readonly behaviour: ModelBehaviour | undefined;
  readonly status: number | 'none';
  readonly headers: Readonly<Record<string, string>>;
  readonly delayMs: number;
  readonly pieces: readonly { readonly text: string; readonly afterMs: number }[];
  readonly end: 'end' | 'cut' | 'hang';
}

const json = { 'content-type': 'application/json' } as const;
const events = { 'content-type': 'text/event-stream; charset=utf-8' } as const;

interface Speaking {
  readonly provider: SimulatedProvider;
  readonly behaviour: ModelBehaviour;
  readonly request: ChatRequest & EmbeddingsRequest;
  readonly key: string;
  readonly number: number;
  readonly isEmbedding: boolean;
}

export class ModelsApi {
  readonly #scenario: Scenario;
  readonly #clock: Clock;
  readonly #behaviours = new Map<string, ModelBehaviour>();

  constructor(scenario: Scenario, clock: Clock) {
    this.#scenario = scenario;
    this.#clock = clock;
    for (const provider of scenario.providers)
      for (const model of provider.models)
        this.#behaviours.set(
          this.#nameOf(provider.name, model.name),
          // Two providers of one model do not fail in step.
          new ModelBehaviour(model, mixed(scenario.seed, textHash(provider.name))),
        );
  }

  stats(): ModelsSimulatorStats {
    return { models: Object.fromEntries([...this.#behaviours].map(([name, each]) => [name, each.stats()])) };
  }

  reset(): void {
    for (const behaviour of this.#behaviours.values()) behaviour.reset();
  }

  /** False when there is no such model. */
  script(name: string, steps: readonly Step[]): boolean {
    this.#behaviours.get(name)?.script(steps);
    return this.#behaviours.has(name);
  }

  /** What `GET …/models` lists. */
  models(provider: string | null): readonly object[] {
    return this.#scenario.providers
      .filter(({ name }) => provider === null || name === provider)
      .flatMap(({ name, models }) =>
        models.map((model) => ({ id: model.name, object: 'model', created: 0, owned_by: name })),
      );
  }

  handle(call: ApiCall): Reply {
    const request = (call.body ?? {}) as ChatRequest & EmbeddingsRequest;
    const provider = this.#scenario.providers.find(
      ({ name, models }) =>
        (call.provider === null || name === call.provider) &&
        models.some((model) => model.name === request.model),
    );
    const behaviour = provider && this.#behaviours.get(this.#nameOf(provider.name, String(request.model)));
    if (!provider || !behaviour)
      return failed(
        undefined,
        404,
        `The model \`${String(request.model)}\` does not exist.`,
        'model_not_found',
      );
    const { number, fault } = behaviour.arrived();
    if (provider.keys.length > 0 && !provider.keys.includes(call.key ?? ''))
      return failed(behaviour, 401, 'Incorrect API key provided.', 'invalid_api_key');
    const speaking: Speaking = {
      provider,
      behaviour,
      request,
      key: call.key ?? '',
      number,
      isEmbedding: call.operation === 'embeddings',
    };
    const refused = this.#refused(speaking);
    if (refused) return refused;
    const reply = fault ? this.#broken(speaking, fault) : this.#spoken(speaking);
    return { ...reply, delayMs: reply.delayMs + provider.latencyMs };
  }

  #refused({ behaviour, request, key, isEmbedding }: Speaking): Reply | undefined {
    const { model, quota } = behaviour;
    if (isEmbedding !== (model.kind === 'embeddings'))
      return failed(behaviour, 400, `The model \`${model.name}\` does not do that.`, 'unsupported');
    if (isEmbedding ? !inputsOf(request) : !Array.isArray(request.messages) || request.messages.length === 0)
      return failed(behaviour, 400, `\`${isEmbedding ? 'input' : 'messages'}\` is missing.`, 'missing');
    if (isEmbedding && !hasGoodDimensions(request))
      return failed(behaviour, 400, '`dimensions` must be a whole number from 1 to 4096.', 'invalid_value');
    const now = this.#clock.now();
    const seconds = quota.refusedFor(key, now);
    if (seconds === 0) return undefined;
    const { headers, body } = refusalOf('retry-after', seconds, now);
    return whole(behaviour, 429, body, { ...headers, ...quota.headers(key, now) });
  }

  #spoken(speaking: Speaking, finish?: string): Reply {
    const { behaviour, request, key, isEmbedding } = speaking;
    const { model, quota } = behaviour;
    const now = this.#clock.now();
    const parts = this.#partsOf(speaking, now);
    const inputs = isEmbedding ? (inputsOf(request) ?? []) : [];
    const dimensions = typeof request.dimensions === 'number' ? request.dimensions : model.dimensions;
    const embeddings = isEmbedding ? embeddingsOf(request, inputs, model.name, dimensions) : undefined;
    const usage =
      (embeddings as { readonly usage: { readonly total_tokens: number } } | undefined)?.usage ??
      usageOf(request, parts.speech);
    quota.charge(key, usage.total_tokens, now);
    const headers = model.quotaHeaders ? quota.headers(key, now) : {};
    if (embeddings) return whole(behaviour, 200, embeddings, headers, model.firstTokenMs);
    if (request.stream === true) return streamed(behaviour, eventsOf(parts), headers);
    const words = eventsOf(parts).length - 3;
    const delayMs = model.firstTokenMs + Math.max(0, words) * model.tokenMs;
    return whole(behaviour, 200, completionOf(parts, finish), headers, delayMs);
  }

  #partsOf({ behaviour, request, number }: Speaking, now: number): ChatAnswerParts {
    const { model } = behaviour;
    return {
      id: `chatcmpl-${model.name}-${number}`,
      created: Math.floor(now / 1_000),
      model: model.name,
      request,
      speech: speechOf(request, model),
    };
  }

  #broken(speaking: Speaking, fault: Fault): Reply {
    const { behaviour, request } = speaking;
    const now = this.#clock.now();
    const isStream = request.stream === true;
    switch (fault.fault) {
      case '429':
      case '503':
      case 'limit-500': {
        const style = fault.hint ?? (fault.fault === '503' ? undefined : 'none');
        const status = fault.fault === 'limit-500' ? 500 : Number(fault.fault);
        if (style === undefined) return failed(behaviour, status, 'The model is overloaded.', 'overloaded');
        const { headers, body } = refusalOf(style, fault.seconds ?? 60, now);
        return whole(behaviour, status, body, headers);
      }
      case 'context':
        return failed(
          behaviour,
          400,
          "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
          'context_length_exceeded',
        );
      case 'hang':
        return { ...whole(behaviour, 200, '', {}), status: 'none', pieces: [], end: 'hang' };
      case 'reset':
        return { ...whole(behaviour, 200, '', {}), status: 'none', pieces: [], end: 'cut' };
      case 'slow': {
        const reply = this.#spoken(speaking);
        return { ...reply, delayMs: reply.delayMs + (fault.ms ?? 1_000) };
      }
      case 'cut':
      case 'silent':
        return cutOff(this.#spoken(speaking), fault.fault === 'cut' ? 'cut' : 'hang');
      case 'cut-early':
        return isStream
          ? { ...streamed(behaviour, [': hello\n\n'], {}), end: 'cut' }
          : { ...whole(behaviour, 200, '', {}), pieces: [], end: 'cut' };
      case 'malformed':
        return isStream
          ? streamed(behaviour, ['data: {"choices": [{"delta"\n\n', 'data: [DONE]\n\n'], {})
          : { ...whole(behaviour, 200, '', {}), pieces: [{ text: '{"choices": [{"mess', afterMs: 0 }] };
      case 'empty':
        return this.#silenced(speaking, 'stop');
      case 'refused':
        return this.#silenced(speaking, 'content_filter');
      case 'error-event':
        return isStream
          ? streamed(
              behaviour,
              [`data: ${JSON.stringify(errorOf('The server had an error.', 'server_error'))}\n\n`],
              {},
            )
          : failed(behaviour, 500, 'The server had an error.', 'server_error');
      default:
        return failed(behaviour, Number(fault.fault), messages[fault.fault], codes[fault.fault]);
    }
  }

  /** An answer without a word in it. */
  #silenced(speaking: Speaking, finish: string): Reply {
    const { behaviour, request } = speaking;
    const parts = { ...this.#partsOf(speaking, this.#clock.now()), speech: { text: '' } };
    if (request.stream !== true) return whole(behaviour, 200, completionOf(parts, finish), {});
    return streamed(
      behaviour,
      eventsOf(parts).map((text) => text.replace('"finish_reason":"stop"', `"finish_reason":"${finish}"`)),
      {},
    );
  }

  #nameOf(provider: string, model: string): string {
    const holders = this.#scenario.providers.filter(({ models }) =>
      models.some(({ name }) => name === model),
    );
    return holders.length > 1 ? `${provider}/${model}` : model;
  }
}

const messages = {
  '400': 'Invalid value for a field of the request.',
  '401': 'Incorrect API key provided.',
  '402': 'Insufficient balance.',
  '403': 'You do not have access to this model.',
  '404': 'The model does not exist.',
  '422': 'The request cannot be processed.',
  '500': 'The server had an error while processing your request (id req_429f00429).',
  '502': 'Bad gateway.',
  '504': 'The model took too long.',
} as const;

const codes = {
  '400': 'invalid_request',
  '401': 'invalid_api_key',
  '402': 'insufficient_balance',
  '403': 'forbidden',
  '404': 'model_not_found',
  '422': 'unprocessable',
  '500': 'internal_error',
  '502': 'bad_gateway',
  '504': 'timeout',
} as const;

const errorOf = (message: string, code: string) => ({
  error: { message, type: code, param: null, code },
});

function failed(behaviour: ModelBehaviour | undefined, status: number, message: string, code: string): Reply {
  return whole(behaviour, status, errorOf(message, code), {});
}

function whole(
  behaviour: ModelBehaviour | undefined,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
  delayMs = 0,
): Reply {
  return {
    behaviour,
    status,
    headers: { ...json, ...headers },
    delayMs,
    pieces: [{ text: JSON.stringify(body), afterMs: 0 }],
    end: 'end',
  };
}

/** The role comes at once, the first word after firstTokenMs, each further one after tokenMs. */
function streamed(
  behaviour: ModelBehaviour,
  texts: readonly string[],
  headers: Readonly<Record<string, string>>,
): Reply {
  const { firstTokenMs, tokenMs } = behaviour.model;
  return {
    behaviour,
    status: 200,
    headers: { ...events, ...headers },
    delayMs: 0,
    pieces: texts.map((text, index) => ({
      text,
      afterMs: index === 0 ? 0 : index === 1 ? firstTokenMs : tokenMs,
    })),
    end: 'end',
  };
}

/** Half of it: of a stream after its first words, of a body in the middle of its text. */
function cutOff(reply: Reply, end: 'cut' | 'hang'): Reply {
  const [only] = reply.pieces;
  const pieces =
    reply.pieces.length === 1 && only
      ? [{ ...only, text: only.text.slice(0, only.text.length >> 1) }]
      : reply.pieces.slice(0, Math.max(2, reply.pieces.length >> 1));
  return { ...reply, pieces, end };
}
