// A process that serves only the gateway passes all other requests on to the main process, which checks them as if they
// had arrived there: headers are passed on unchanged, and none is added that the main process would trust.
import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Clock, IdSource } from '../core/index.ts';
import { CoreError } from '../core/index.ts';
import type { Access } from './access.ts';
import { completionCaller, credentialIn } from './access.ts';
import { toErrorResponse } from './errors.ts';
import { discardRest } from './lifecycle.ts';

export interface ForwardDeps {
  readonly access: Access;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Where the main process listens. */
  readonly mainUrl: string;
}

/**
 * Requests of the gateway with credentials that are valid here stay; all others are passed on, and so are those with a key
 * that this process has not read yet. Install it last.
 */
export function forwardOthers(server: FastifyInstance, deps: ForwardDeps): void {
  const node = server.server;
  const [handle] = node.listeners('request') as [RequestListener];
  const forwarder = new Forwarder(server, deps);
  node.off('request', handle);
  node.on('request', (request, response) => {
    if (isServedHere(request, deps.access)) handle(request, response);
    else forwarder.forward(request, response);
  });
}

function isServedHere({ url, headers }: IncomingMessage, access: Access): boolean {
  if (url === undefined || !url.startsWith('/v1/')) return false;
  const credential = credentialIn(headers);
  return credential !== undefined && completionCaller(credential, access) !== undefined;
}

class Forwarder {
  readonly #traffic: FastifyInstance['traffic'];
  readonly #clock: Clock;
  readonly #ids: IdSource;
  readonly #host: string;
  readonly #port: string;

  constructor({ traffic }: FastifyInstance, { clock, ids, mainUrl }: ForwardDeps) {
    this.#traffic = traffic;
    this.#clock = clock;
    this.#ids = ids;
    ({ hostname: this.#host, port: this.#port } = new URL(mainUrl));
  }

  forward(request: IncomingMessage, response: ServerResponse): void {
    this.#traffic.enter();
    response.on('close', () => this.#traffic.exit());
    let onward: ClientRequest;
    try {
      onward = httpRequest({
        host: this.#host,
        port: this.#port,
        method: request.method,
        path: request.url,
        headers: requestHeaders(request),
        // A connection each: one that is reused may be closed by the main process at the same moment.
        agent: false,
      });
    } catch {
      // A header or path that Node receives and does not send.
      this.#reject(request, response, new CoreError('INPUT_INVALID', 'This is not a valid HTTP request.'));
      return;
    }
    onward.on('continue', () => response.writeContinue());
    onward.on('response', (answer) => this.#respond(request, response, answer));
    onward.on('error', () => {
      // Once the response has started, its own end says how it ended.
      if (!response.headersSent && !response.destroyed) this.#reject(request, response, mainUnreachable());
    });
    // The client has disconnected, or has its response.
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  }

  #respond(request: IncomingMessage, response: ServerResponse, answer: IncomingMessage): void {
    // Node chooses how it sends the body to this client.
    const headers = without(answer.rawHeaders, [...ofConnection, 'transfer-encoding']);
    // The rest of a rejected body is not read, and a stopping server accepts no further request.
    const isRejected = !request.complete;
    if (isRejected || this.#traffic.isDraining) headers.push('connection', 'close');
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
    response.flushHeaders();
    // Destroys the response when the main process closes the connection half-way.
    if (!isRejected) {
      pipeline(answer, response, () => undefined);
      return;
    }
    answer.pipe(response, { end: false });
    answer.on('close', () => {
      request.unpipe();
      // See sendLingering.
      if (answer.complete) void discardRest(request, this.#clock).then(() => response.end());
      else response.destroy();
    });
  }

  #reject(request: IncomingMessage, response: ServerResponse, error: CoreError): void {
    const { status, body, retryAfterHeader } = toErrorResponse(error, this.#ids.uuid());
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': body.error.request_id,
      'cache-control': 'no-store',
      connection: 'close',
      ...(retryAfterHeader === undefined ? {} : { 'retry-after': retryAfterHeader }),
    });
    response.end(JSON.stringify(body));
    request.resume();
  }
}

const mainUnreachable = (): CoreError =>
  new CoreError('SHUTTING_DOWN', 'This server is stopping. Use another one, or retry in a moment.', {
    isRetryable: true,
  });

/** They belong to one connection. */
const ofConnection = ['connection', 'keep-alive', 'proxy-connection', 'upgrade'];

/** As Node writes them to `rawHeaders`: names and values alternating. */
function without(raw: readonly string[], names: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const [name = '', value = ''] = [raw[index], raw[index + 1]];
    if (!names.includes(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

function requestHeaders({ headers, rawHeaders }: IncomingMessage): string[] {
  const kept = without(rawHeaders, ofConnection);
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  // Node would announce a body in chunks where there is none.
  if (!hasBody) kept.push('content-length', '0');
  kept.push('connection', 'close');
  return kept;
}
