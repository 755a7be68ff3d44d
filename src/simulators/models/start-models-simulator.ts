// Starts simulated AI providers: one HTTP server on the loopback interface, one path per provider.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { CoreError, messageOf, systemClock } from '../../core/index.ts';
import { listenOnLoopback } from '../listen-on-loopback.ts';
import { readBody } from '../read-body.ts';
import { deliver } from './deliver.ts';
import { ModelsApi } from './models-api.ts';
import type { ModelsSimulator, ModelsSimulatorOptions, Step } from './ports.ts';
import { readScript } from './scenario.ts';

const largestBody = 64 * 1024 * 1024;
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
    const body = parsed(await readBody(request, largestBody));
    if (body === undefined)
      return void send(400, { error: { message: 'The body is no JSON.', code: 'invalid' } });
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
            message: `There is no ${request.method} ${path}; there are GET /__stats, GET /__connections, POST /__reset, POST /__script.`,
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
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
