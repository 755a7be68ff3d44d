// headworks/gateway: completes prompts with whichever model is available, without a server.
import { EventBus, Redactor, systemClock, systemIds, systemRandom } from '../core/index.ts';
import { optionValues } from '../core/options.ts';
import { gatewayEvents } from '../gateway/events.ts';
import { openGateway } from '../gateway/open-gateway.ts';
import { gatewayOptions } from '../gateway/options.ts';
import type { ModelDefinition } from '../gateway/types.ts';
import type { StoreOptions } from './store-options.ts';
import { openStore } from './store.ts';
import { checkNames } from './check-names.ts';

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
  /** Variable of `env` that holds its key. Default: it needs none. */
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
  /** Where the keys of providers are. Default: none. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Extra tries per model after transient failures, one second apart. Default: 1. */
  readonly maxRetries?: number;
  /** Milliseconds until `complete` fails, all tries together. Default: 60,000. */
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
  /** Fails with an error whose `code` is the reason why no model responded. */
  complete(request: CompletionRequest): Promise<{ readonly text: string; readonly model: string }>;
  /** Vectors of one model, in the order of the texts. */
  embed(request: {
    readonly model: string;
    readonly texts: readonly string[];
    readonly signal?: AbortSignal;
  }): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

const optionNames = ['models', 'env', 'maxRetries', 'timeoutMs', 'dataFolder', 'databaseUrl'];

/**
 * Creates a gateway. Cooldowns and scores of models are kept in its store.
 *
 * @example
 * const gateway = await createGateway({
 *   models: [
 *     { name: 'primary', baseUrl: 'https://llm.example.com/v1', envVar: 'PRIMARY_KEY' },
 *     { name: 'backup', baseUrl: 'http://127.0.0.1:8000/v1' },
 *   ],
 *   env: { PRIMARY_KEY: 'key of the provider' },
 * });
 * const { text, model } = await gateway.complete({ prompt: 'Name three rivers.' });
 * console.log(`${model}: ${text}`);
 * await gateway.close();
 */
export async function createGateway(given: GatewayOptions): Promise<Gateway> {
  checkNames('createGateway', given, optionNames);
  await using closing = new AsyncDisposableStack();
  const options = optionValues(gatewayOptions, {
    // Checked by the option.
    models: given.models as readonly ModelDefinition[] | undefined,
    maxRetries: given.maxRetries ?? 1,
    retryDelaySeconds: 1,
    requestTimeoutSeconds: (given.timeoutMs ?? 60_000) / 1_000,
  });
  const database = await openStore({ dataFolder: '.headworks/gateway', ...given }, closing);
  const gateway = await openGateway({
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: new EventBus(gatewayEvents, () => systemClock.now()),
    redactor: new Redactor(),
    stores: { database, redis: null },
    options,
    env: given.env ?? {},
  });
  closing.defer(() => gateway.close());
  const open = closing.move();
  const common = () => ({ requestId: systemIds.uuid(), caller: 'library' });
  return {
    complete: ({ prompt, signal = new AbortController().signal, ...rest }) =>
      gateway.client.completeText({
        ...common(),
        ...rest,
        signal,
        messages: typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt,
      }),
    embed: ({ signal = new AbortController().signal, ...request }) =>
      gateway.client.embed({ ...common(), ...request, signal }),
    close: () => open.disposeAsync(),
  };
}
