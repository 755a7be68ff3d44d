// Starts simulated AI providers: one HTTP server on the loopback interface, one path per provider.
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Clock } from '../../core/index.ts';
import { CoreError, messageOf, parseJson, systemClock } from '../../core/index.ts';
import { listenOnLoopback, readBody, stopServer } from '../http-server.ts';
import type { Reply } from './providers-api.ts';
import { ModelsApi } from './providers-api.ts';
import type { Scenario, Step } from './scenario.ts';
import { readScript } from './scenario.ts';

export interface ModelsSimulatorOptions {
  readonly scenario: Scenario;
  readonly port?: number;
  readonly clock?: Clock;
}

/** Statistics by model; by `provider/model` if two providers have a model of that name. */
export interface ModelsSimulatorStats {
  readonly models: Readonly<
    Record<string, { readonly calls: number; readonly responded: Readonly<Record<string, number>> }>
  >;
}

export interface ModelsSimulator {
  readonly url: string;
  /** `URL/NAME/v1` of a provider. */
  baseUrl(provider: string): string;
  stats(): ModelsSimulatorStats;
  /** Responses in progress. */
  open(): number;
  /** Responses whose caller disconnected before the end. */
  aborted(): number;
  reset(): void;
  /** Sets the script of a model, named as in the stats. */
  script(model: string, steps: readonly Step[]): void;
  stop(): Promise<void>;
}

const maxBodyBytes = 64 * 1024 * 1024;
const apiPath = /^(?:\/([\w.-]+))?\/v1\/(chat\/completions|embeddings|models)$/;

/** Listens when it resolves. Fails with PORT_UNAVAILABLE. */
export async function startModelsSimulator(options: ModelsSimulatorOptions): Promise<ModelsSimulator> {
  const { clock = systemClock } = options;
  const api = new ModelsApi(options.scenario, clock);
  let open = 0;
  let aborted = 0;

  const script = (model: string, steps: readonly Step[]): void => {
    if (!api.script(model, steps)) throw new CoreError('NOT_FOUND', `There is no simulated model ${model}.`);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const send = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (path.startsWith('/__')) return control(request, path, send);
    const [, provider, operation] = apiPath.exec(path) ?? [];
    if (operation === 'models' && request.method === 'GET')
      return void send(200, { object: 'list', data: api.models(provider ?? null) });
    if (operation === undefined || operation === 'models' || request.method !== 'POST')
      return void send(404, {
        error: { message: `There is no ${request.method} ${path}.`, code: 'not_found' },
      });
    const body = parseJson(await readBody(request, maxBodyBytes));
    if (body === undefined)
      return void send(400, { error: { message: 'The body is not JSON.', code: 'invalid' } });
    const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null;
    const reply = api.handle({
      provider: provider ?? null,
      operation: operation as 'chat/completions' | 'embeddings',
      key,
      body,
    });
    open += 1;
    if (await deliver(reply, response, clock)) aborted += 1;
    open -= 1;
  };

  const control = async (
    request: IncomingMessage,
    path: string,
    send: (status: number, value: unknown) => unknown,
  ): Promise<void> => {
    try {
      switch (`${request.method} ${path}`) {
        case 'GET /__stats':
          return void send(200, api.stats());
        case 'GET /__connections':
          return void send(200, { open, aborted });
        case 'POST /__reset':
          api.reset();
          return void send(200, { done: true });
        case 'POST /__script': {
          const { model, script: steps } = JSON.parse(await readBody(request)) as Record<string, unknown>;
          script(String(model), readScript(steps));
          return void send(200, { done: true });
        }
        default:
          send(404, {
            message: `There is no ${request.method} ${path}; available: GET /__stats, GET /__connections, POST /__reset, POST /__script.`,
          });
      }
    } catch (error) {
      send(400, { message: messageOf(error) });
    }
  };

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const url = await listenOnLoopback(server, options.port ?? 0);
  return {
    url,
    baseUrl: (provider) => `${url}/${provider}/v1`,
    stats: () => api.stats(),
    open: () => open,
    aborted: () => aborted,
    reset: () => api.reset(),
    script,
    stop: () => stopServer(server),
  };
}

/* ---- sending a reply ---- */

/** Resolves when the response has ended; true when the caller disconnected before. */
async function deliver(reply: Reply, response: ServerResponse, clock: Clock): Promise<boolean> {
  const disconnect = new AbortController();
  response.once('close', () => disconnect.abort(new Error('disconnected')));
  try {
    if (reply.delayMs > 0) await clock.sleep(reply.delayMs, disconnect.signal);
    if (reply.status === 'none') return await sendNothing(reply, response, clock, disconnect.signal);
    reply.state?.countResponse(reply.status);
    await send(reply, response, clock, disconnect.signal);
    return false;
  } catch {
    if (!response.headersSent) reply.state?.countResponse('none');
    return true;
  }
}

const foreverMs = 86_400_000;

async function sendNothing(
  reply: Reply,
  response: ServerResponse,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean> {
  reply.state?.countResponse('none');
  if (reply.end === 'cut') {
    response.socket?.resetAndDestroy();
    return false;
  }
  await clock.sleep(foreverMs, signal).catch(() => undefined);
  return true;
}

async function send(
  reply: Reply,
  response: ServerResponse,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const { chunks, headers, status, end } = reply;
  const [only] = chunks;
  const isWhole = end === 'end' && chunks.length === 1 && only !== undefined;
  response.writeHead(Number(status), {
    ...headers,
    ...(isWhole ? { 'content-length': Buffer.byteLength(only.text) } : {}),
  });
  for (const { text, afterMs } of chunks) {
    if (afterMs > 0) await clock.sleep(afterMs, signal);
    if (!response.write(text)) await once(response, 'drain', { signal });
    signal.throwIfAborted();
  }
  if (end === 'end') response.end();
  else if (end === 'cut')
    await new Promise<void>((resolve) => response.write('', () => resolve(void response.destroy())));
  else await clock.sleep(foreverMs, signal);
}
