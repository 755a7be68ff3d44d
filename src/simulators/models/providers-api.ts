// Handles calls to simulated providers: finds the model, applies its faults, otherwise completes.
import type { Clock } from '../../core/index.ts';
import { mixed, textHash } from '../chance.ts';
import type { ChatRequest, CompletionDetails, EmbeddingsRequest } from './completions.ts';
import {
  completionBody,
  completionEvents,
  completionFor,
  embeddingsOf,
  hasValidDimensions,
  inputsOf,
  usageOf,
} from './completions.ts';
import { ModelState } from './model-state.ts';
import { rateLimitResponse } from './rate-limit-responses.ts';
import type { Fault, Scenario, SimulatedModel, Step } from './scenario.ts';

export interface ApiCall {
  /** Null: any provider with the model. */
  readonly provider: string | null;
  readonly operation: 'chat/completions' | 'embeddings';
  readonly key: string | null;
  readonly body: unknown;
}

/** Chunks of a response, each `afterMs` after the one before; then its end, or a fault instead. */
export interface Reply {
  /** State of the model that was called; undefined when there is none. */
  readonly state?: ModelState;
  readonly status: number | 'none';
  readonly headers: Readonly<Record<string, string>>;
  readonly delayMs: number;
  readonly chunks: readonly { readonly text: string; readonly afterMs: number }[];
  readonly end: 'end' | 'cut' | 'hang';
}

const json = { 'content-type': 'application/json' } as const;
const events = { 'content-type': 'text/event-stream; charset=utf-8' } as const;

interface AcceptedCall {
  readonly state: ModelState;
  readonly request: ChatRequest & EmbeddingsRequest;
  readonly key: string;
  readonly number: number;
  readonly isEmbedding: boolean;
}

export class ModelsApi {
  readonly #scenario: Scenario;
  readonly #clock: Clock;
  readonly #states = new Map<string, ModelState>();

  constructor(scenario: Scenario, clock: Clock) {
    this.#scenario = scenario;
    this.#clock = clock;
    for (const provider of scenario.providers)
      for (const model of provider.models)
        this.#states.set(
          this.#nameOf(provider.name, model.name),
          // Two providers of one model fail independently.
          new ModelState(model, mixed(scenario.seed, textHash(provider.name))),
        );
  }

  stats() {
    return { models: Object.fromEntries([...this.#states].map(([name, each]) => [name, each.stats()])) };
  }

  reset(): void {
    for (const state of this.#states.values()) state.reset();
  }

  /** False when there is no such model. */
  script(name: string, steps: readonly Step[]): boolean {
    this.#states.get(name)?.script(steps);
    return this.#states.has(name);
  }

  /** Models as in the response to `GET …/models`. */
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
    const state = provider && this.#states.get(this.#nameOf(provider.name, String(request.model)));
    if (!provider || !state)
      return failed(404, `The model \`${String(request.model)}\` does not exist.`, 'model_not_found');
    const { number, fault } = state.begin();
    if (provider.keys.length > 0 && !provider.keys.includes(call.key ?? ''))
      return { ...failed(401, 'Incorrect API key provided.', 'invalid_api_key'), state };
    const isEmbedding = call.operation === 'embeddings';
    const accepted: AcceptedCall = { state, request, key: call.key ?? '', number, isEmbedding };
    const rejection = this.#rejection(accepted);
    if (rejection) return { ...rejection, state };
    const reply = fault ? this.#applyFault(accepted, fault) : this.#complete(accepted);
    return { ...reply, state, delayMs: reply.delayMs + provider.latency_ms };
  }

  #rejection({ state, request, key, isEmbedding }: AcceptedCall): Reply | undefined {
    const { model, quota } = state;
    if (isEmbedding !== (model.kind === 'embeddings'))
      return failed(400, `The model \`${model.name}\` does not support that.`, 'unsupported');
    if (isEmbedding ? !inputsOf(request) : !Array.isArray(request.messages) || request.messages.length === 0)
      return failed(400, `\`${isEmbedding ? 'input' : 'messages'}\` is missing.`, 'missing');
    if (isEmbedding && !hasValidDimensions(request))
      return failed(400, '`dimensions` must be a whole number from 1 to 4096.', 'invalid_value');
    const now = this.#clock.now();
    const seconds = quota.waitSeconds(key, now);
    if (seconds === 0) return undefined;
    const { headers, body } = rateLimitResponse('retry-after', seconds, now);
    return whole(429, body, { ...headers, ...quota.headers(key, now) });
  }

  #complete(accepted: AcceptedCall, finishReason?: string): Reply {
    const { state, request, key, isEmbedding } = accepted;
    const { model, quota } = state;
    const now = this.#clock.now();
    const details = this.#detailsOf(accepted, now);
    const inputs = isEmbedding ? (inputsOf(request) ?? []) : [];
    const dimensions = typeof request.dimensions === 'number' ? request.dimensions : model.dimensions;
    const embeddings = isEmbedding ? embeddingsOf(request, inputs, model.name, dimensions) : undefined;
    const usage =
      (embeddings as { readonly usage: { readonly total_tokens: number } } | undefined)?.usage ??
      usageOf(request, details.completion);
    quota.charge(key, usage.total_tokens, now);
    const headers = model.quota_headers ? quota.headers(key, now) : {};
    if (embeddings) return whole(200, embeddings, headers, model.first_token_ms);
    if (request.stream === true) return streamed(state.model, completionEvents(details), headers);
    const words = completionEvents(details).length - 3;
    const delayMs = model.first_token_ms + Math.max(0, words) * model.token_ms;
    return whole(200, completionBody(details, finishReason), headers, delayMs);
  }

  #detailsOf({ state, request, number }: AcceptedCall, now: number): CompletionDetails {
    const { model } = state;
    return {
      id: `chatcmpl-${model.name}-${number}`,
      created: Math.floor(now / 1_000),
      model: model.name,
      request,
      completion: completionFor(request, model),
    };
  }

  #applyFault(accepted: AcceptedCall, fault: Fault): Reply {
    const { state, request } = accepted;
    const now = this.#clock.now();
    const isStream = request.stream === true;
    switch (fault.fault) {
      case '429':
      case '503':
      case 'limit-500': {
        const style = fault.hint ?? (fault.fault === '503' ? undefined : 'none');
        const status = fault.fault === 'limit-500' ? 500 : Number(fault.fault);
        if (style === undefined) return failed(status, 'The model is overloaded.', 'overloaded');
        const { headers, body } = rateLimitResponse(style, fault.seconds ?? 60, now);
        return whole(status, body, headers);
      }
      case 'context':
        return failed(
          400,
          "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
          'context_length_exceeded',
        );
      case 'hang':
        return nothing('hang');
      case 'reset':
        return nothing('cut');
      case 'slow': {
        const reply = this.#complete(accepted);
        return { ...reply, delayMs: reply.delayMs + (fault.ms ?? 1_000) };
      }
      case 'cut':
      case 'silent':
        return truncated(this.#complete(accepted), fault.fault === 'cut' ? 'cut' : 'hang');
      case 'cut-early':
        return isStream
          ? { ...streamed(state.model, [': hello\n\n'], {}), end: 'cut' }
          : { ...whole(200, '', {}), chunks: [], end: 'cut' };
      case 'malformed':
        return isStream
          ? streamed(state.model, ['data: {"choices": [{"delta"\n\n', 'data: [DONE]\n\n'], {})
          : { ...whole(200, '', {}), chunks: [{ text: '{"choices": [{"mess', afterMs: 0 }] };
      case 'empty':
        return this.#emptyCompletion(accepted, 'stop');
      case 'refused':
        return this.#emptyCompletion(accepted, 'content_filter');
      case 'error-event':
        return isStream
          ? streamed(
              state.model,
              [`data: ${JSON.stringify(errorOf('The server had an error.', 'server_error'))}\n\n`],
              {},
            )
          : failed(500, 'The server had an error.', 'server_error');
      default: {
        const [message, code] = plainErrors[fault.fault];
        return failed(Number(fault.fault), message, code);
      }
    }
  }

  /** A response without content. */
  #emptyCompletion(accepted: AcceptedCall, finishReason: string): Reply {
    const { state, request } = accepted;
    const details = { ...this.#detailsOf(accepted, this.#clock.now()), completion: { text: '' } };
    if (request.stream !== true) return whole(200, completionBody(details, finishReason), {});
    return streamed(
      state.model,
      completionEvents(details).map((text) =>
        text.replace('"finish_reason":"stop"', `"finish_reason":"${finishReason}"`),
      ),
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

const plainErrors = {
  '400': ['Invalid value for a field of the request.', 'invalid_request'],
  '401': ['Incorrect API key provided.', 'invalid_api_key'],
  '402': ['Insufficient balance.', 'insufficient_balance'],
  '403': ['You do not have access to this model.', 'forbidden'],
  '404': ['The model does not exist.', 'model_not_found'],
  '422': ['The request cannot be processed.', 'unprocessable'],
  '500': ['The server had an error while processing your request (id req_429f00429).', 'internal_error'],
  '502': ['Bad gateway.', 'bad_gateway'],
  '504': ['The model took too long.', 'timeout'],
} as const;

const errorOf = (message: string, code: string) => ({
  error: { message, type: code, param: null, code },
});

const failed = (status: number, message: string, code: string): Reply =>
  whole(status, errorOf(message, code), {});

/** No response: the connection is reset, or nothing is ever sent. */
const nothing = (end: 'cut' | 'hang'): Reply => ({
  status: 'none',
  headers: {},
  delayMs: 0,
  chunks: [],
  end,
});

function whole(status: number, body: unknown, headers: Readonly<Record<string, string>>, delayMs = 0): Reply {
  const chunks = [{ text: JSON.stringify(body), afterMs: 0 }];
  return { status, headers: { ...json, ...headers }, delayMs, chunks, end: 'end' };
}

/** The role is sent at once, the first word after first_token_ms, each further one after token_ms. */
function streamed(
  { first_token_ms, token_ms }: SimulatedModel,
  texts: readonly string[],
  headers: Readonly<Record<string, string>>,
): Reply {
  const chunks = texts.map((text, index) => ({
    text,
    afterMs: index === 0 ? 0 : index === 1 ? first_token_ms : token_ms,
  }));
  return { status: 200, headers: { ...events, ...headers }, delayMs: 0, chunks, end: 'end' };
}

/** Half of it: a stream after its first words, a body in the middle of its text. */
function truncated(reply: Reply, end: 'cut' | 'hang'): Reply {
  const [only] = reply.chunks;
  const chunks =
    reply.chunks.length === 1 && only
      ? [{ ...only, text: only.text.slice(0, only.text.length >> 1) }]
      : reply.chunks.slice(0, Math.max(2, reply.chunks.length >> 1));
  return { ...reply, chunks, end };
}
