// headworks/gateway: completes prompts with whichever model is available, without a server.
import { z } from 'zod';
import type { HeadworksError } from '../core/index.ts';
import { EventBus, Redactor, systemClock, systemIds, systemRandom } from '../core/index.ts';
import { withDefaults } from '../core/options.ts';
import { gatewayEvents } from '../gateway/events.ts';
import { openGateway } from '../gateway/open-gateway.ts';
import { gatewayOptions } from '../gateway/options.ts';
import type { ErrorNames } from './boundary.ts';
import {
  amount,
  checkInput,
  object,
  OpenCalls,
  run,
  setting,
  signal,
  storeSettings,
  storeShape,
  text,
  variables,
  whole,
} from './boundary.ts';
import type { StoreOptions } from './options.ts';
import { openStore } from './store.ts';

export { HeadworksError } from '../core/errors.ts';

/**
 * A model behind an OpenAI-compatible API.
 *
 * @example const model: GatewayModel = { name: 'local/llama', baseUrl: 'http://127.0.0.1:8000/v1' };
 */
export interface GatewayModel {
  /** What `complete` takes as `model`. */
  readonly name: string;
  /** Up to, and without, `/chat/completions`. */
  readonly baseUrl: string;
  /**
   * Variable of `env` that holds its key; its name must end in `_API_KEY` or `_API_TOKEN`, or be one of a built-in
   * provider. Default: it needs no key.
   */
  readonly envVar?: string;
  /** Name of the model at the provider. Default: `name`. */
  readonly model?: string;
}

/**
 * Settings of {@link createGateway}.
 *
 * @example const options: GatewayOptions = { env: { GROQ_API_KEY: 'key of the provider' } };
 */
export interface GatewayOptions extends StoreOptions {
  /** Your models, in addition to the built-in ones of providers whose key is in `env`. */
  readonly models?: readonly GatewayModel[];
  /** Variables with the keys of providers, for example those of your process. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Extra attempts per model after transient failures, one second apart. Default: 1. */
  readonly maxRetries?: number;
  /** Milliseconds until `complete` fails, all attempts together. Default: 60,000. */
  readonly timeoutMs?: number;
}

/**
 * A message of a conversation.
 *
 * @example const message: Message = { role: 'system', content: 'Answer in one sentence.' };
 */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/**
 * What a model is to complete.
 *
 * @example const request: CompletionRequest = { prompt: 'Name three rivers.', model: 'auto' };
 */
export interface CompletionRequest {
  readonly prompt: string | readonly Message[];
  /** A model, several separated by commas, or `auto` (default): the best that is available. */
  readonly model?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  /** Request JSON where the model can. Default: false. */
  readonly json?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Completes prompts. Falls back to other models while one fails or is rate limited.
 *
 * @example
 * const gateway: Gateway = await createGateway({ models: [{ name: 'mine', baseUrl: 'http://127.0.0.1:8000/v1' }] });
 * await gateway.close();
 */
export interface Gateway {
  /** Fails with a code of the gateway, DEADLINE_EXCEEDED, or CANCELED when the signal aborts. */
  complete(request: CompletionRequest): Promise<{ readonly text: string; readonly model: string }>;
  /** Vectors of one model, in the order of the texts. */
  embed(request: {
    readonly model: string;
    readonly texts: readonly string[];
    readonly signal?: AbortSignal;
  }): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

/**
 * Creates a gateway. Cooldowns and scores of models are kept in its store.
 *
 * @example
 * const gateway = await createGateway({
 *   models: [
 *     { name: 'primary', baseUrl: 'https://llm.example.com/v1', envVar: 'PRIMARY_API_KEY' },
 *     { name: 'backup', baseUrl: 'http://127.0.0.1:8000/v1' },
 *   ],
 *   env: { PRIMARY_API_KEY: 'key of the provider' },
 * });
 * const { text, model } = await gateway.complete({ prompt: 'Name three rivers.' });
 * console.log(`${model}: ${text}`);
 * await gateway.close();
 */
export async function createGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const given = checkInput('createGateway', createInput, options);
  return run(names, () => open(given));
}

const createInput = object({
  ...storeShape,
  models: setting(gatewayOptions.fields.models),
  env: variables.optional(),
  maxRetries: setting(gatewayOptions.fields.maxRetries),
  timeoutMs: amount(1_000, 3_600_000).optional(),
});

const message = object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });

const completeInput = object({
  request: object({
    prompt: z.union(
      [text, z.array(message).min(1)],
      'must be text, or a list of messages with role and content',
    ),
    model: text.optional(),
    temperature: amount(0).optional(),
    maxTokens: whole(1).optional(),
    json: z.boolean().optional(),
    signal: signal.optional(),
  }),
});

const embedInput = object({
  request: object({ model: text, texts: z.array(text).min(1), signal: signal.optional() }),
});

const names: ErrorNames = {
  settings: storeSettings,
  explain: ({ code, details: { envVars } }) =>
    code === 'GATEWAY_NOT_CONFIGURED' && Array.isArray(envVars) && envVars.length > 0
      ? `No suitable model has a key. Pass one of these in env: ${envVars.join(', ')}; or a model that needs no key in models.`
      : undefined,
};

const callableModels = (models: readonly { readonly name: string }[]): string =>
  models.length === 0
    ? 'No model of this gateway has a key.'
    : `Models of this gateway: ${models.map(({ name }) => name).join(', ')}.`;

async function open(given: z.output<typeof createInput>): Promise<Gateway> {
  await using closing = new AsyncDisposableStack();
  const { models, maxRetries = 1, timeoutMs = 60_000, env = {} } = given;
  const options = withDefaults(gatewayOptions, {
    models,
    maxRetries,
    retryDelaySeconds: 1,
    requestTimeoutSeconds: timeoutMs / 1_000,
  });
  const database = await openStore({ dataFolder: '.headworks/gateway', ...given }, closing);
  const gateway = await openGateway({
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: new EventBus(gatewayEvents),
    redactor: new Redactor(),
    stores: { database, redis: null },
    options,
    env,
  });
  closing.defer(() => gateway.close());
  const explain = (error: HeadworksError) =>
    error.code === 'GATEWAY_MODEL_NOT_FOUND'
      ? `${error.message} ${callableModels(gateway.models.listCallable())}`
      : names.explain?.(error);
  const calls = new OpenCalls('gateway', closing.move(), { ...names, explain });
  const common = () => ({ requestId: systemIds.uuid(), caller: 'library' });
  return {
    complete: async (request) => {
      const {
        prompt,
        signal: stopped = new AbortController().signal,
        ...rest
      } = checkInput('complete', completeInput, {
        request,
      }).request;
      const messages = typeof prompt === 'string' ? [{ role: 'user' as const, content: prompt }] : prompt;
      return calls.run(
        () => gateway.client.completeText({ ...common(), ...rest, messages, signal: stopped }),
        stopped,
      );
    },
    embed: async (request) => {
      const { signal: stopped = new AbortController().signal, ...rest } = checkInput('embed', embedInput, {
        request,
      }).request;
      return calls.run(() => gateway.client.embed({ ...common(), ...rest, signal: stopped }), stopped);
    },
    close: () => calls.close(),
  };
}
