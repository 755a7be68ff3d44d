// Chat completions on the Node server, before fastify, whose hooks, body parser and reply take a fifth of their time.
// Only for usual requests: all others, and all errors, are left to fastify. The checks and the handler are the same.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { completionsApi } from '../../api/completions.ts';
import type { CoreError, Listed } from '../../core/index.ts';
import { SlotList } from '../../core/index.ts';
import type { CompletionOptions, CompletionResult } from '../../gateway/index.ts';
import { completionCaller, credentialIn } from '../access.ts';
import type { GatewayServerDeps } from '../deps.ts';
import { createHostCheck, tooSlow } from '../guards.ts';
import type { Closable, TrackingDeps } from '../lifecycle.ts';
import { beginRequest, clientDisconnected, endRequest, handedOver } from '../lifecycle.ts';
import type { Recipient, RoutingHeaders } from './completions.ts';
import { callerName, parseRoutingHeaders, sendCompletion } from './completions.ts';

const { path } = completionsApi.chat;

/** Must be installed when all routes are: it comes before them. */
export function installDirectChat(
  server: FastifyInstance,
  deps: GatewayServerDeps,
  requestTimeoutMs: number,
): void {
  const node = server.server;
  const [handle] = node.listeners('request') as [RequestListener];
  const onTooSlow = (socket: Socket) => void node.emit('clientError', tooSlow(), socket);
  const bodies = new ReceivedBodies(deps, requestTimeoutMs, onTooSlow);
  const direct = new DirectChat(server, deps, bodies, handle);
  node.off('request', handle);
  node.on('request', (request, response) => {
    if (!direct.serve(request, response)) handle(request, response);
  });
}

class DirectChat {
  readonly #tracking: TrackingDeps;
  readonly #deps: GatewayServerDeps;
  readonly #bodies: ReceivedBodies;
  readonly #handle: RequestListener;
  readonly #readHeaders: (request: IncomingMessage) => UsualHeaders | undefined;

  constructor(
    server: FastifyInstance,
    deps: GatewayServerDeps,
    bodies: ReceivedBodies,
    handle: RequestListener,
  ) {
    this.#tracking = { traffic: server.traffic, clock: deps.clock, events: deps.events };
    this.#deps = deps;
    this.#bodies = bodies;
    this.#handle = handle;
    this.#readHeaders = createHeaderReader(deps);
  }

  /** False: nothing has happened, fastify serves it. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    const { access, gateway, ids } = this.#deps;
    const { traffic } = this.#tracking;
    if (request.url !== path || request.method !== 'POST' || traffic.isDraining) return false;
    const headers = this.#readHeaders(request);
    if (!headers) return false;
    const length = Number(request.rawHeaders[headers.lengthIndex]);
    if (!(length > 0 && length <= gateway.defaults.maxBodyBytes)) return false;
    // With every request: a key may be revoked or expire while a connection is open.
    const caller = completionCaller(headers.credential, access);
    if (!caller) return false;
    const requestId = ids.uuid();
    const tracked = beginRequest(this.#tracking, requestId, 'POST', path);
    const options = new DirectOptions(requestId, callerName(caller), headers.routing, response);
    traffic.register(options);
    const onError = (error: unknown) => {
      handedOver.set(request, { requestId, error });
      this.#handle(request, response);
    };
    const received = this.#bodies.receive(request, tracked.startedAt, (body) => {
      try {
        this.#start(options, headers.contentType, body, onError);
      } catch (error) {
        onError(error);
      }
    });
    // One listener for all that ends with the response: each takes as long as parsing its headers.
    response.on('close', () => {
      endRequest(this.#tracking, tracked, response);
      this.#bodies.delete(received);
      traffic.unregister(options);
      if (!response.writableFinished) options.forceClose(clientDisconnected());
    });
    return true;
  }

  #start(
    options: DirectOptions,
    contentType: string,
    body: Uint8Array,
    onError: (error: unknown) => void,
  ): void {
    const { gateway, log } = this.#deps;
    const parsed = gateway.parseRequest('chat', body, { contentType });
    const send = (result: CompletionResult) => void sendCompletion(options, parsed.api, result, log);
    options.onCanceled = gateway.start(parsed, options, (result) => {
      if (result instanceof Promise) result.then(send, onError);
      else send(result);
    });
  }
}

/** Options of one completion. Most end before anybody needs a signal: it is created when it is read first. */
class DirectOptions implements CompletionOptions, Recipient, Closable {
  readonly requestId: string;
  readonly caller: string;
  readonly allowFallback: boolean;
  readonly deadlineMs: number;
  readonly isDeadlineByCaller: boolean | undefined;
  readonly waitMs: number;
  readonly raw: ServerResponse;
  onCanceled: (() => void) | undefined;
  slot: number | undefined;
  #controller: AbortController | undefined;
  #reason: CoreError | undefined;

  constructor(
    requestId: string,
    caller: string,
    { allowFallback, deadlineMs, isDeadlineByCaller, waitMs }: RoutingHeaders,
    raw: ServerResponse,
  ) {
    this.requestId = requestId;
    this.caller = caller;
    this.allowFallback = allowFallback;
    this.deadlineMs = deadlineMs;
    this.isDeadlineByCaller = isDeadlineByCaller;
    this.waitMs = waitMs;
    this.raw = raw;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  forceClose(reason: CoreError): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
    this.onCanceled?.();
  }
}

/* ---- headers ---- */

interface UsualHeaders {
  readonly raw: readonly string[];
  /** Of the value of Content-Length in `raw`. */
  readonly lengthIndex: number;
  readonly credential: string;
  readonly contentType: string;
  readonly routing: RoutingHeaders;
}

/** Headers with which fastify does more, or something else. */
const unusual = [
  'origin',
  'expect',
  'transfer-encoding',
  'content-encoding',
  'x-request-id',
  'anthropic-version',
  'anthropic-beta',
] as const;

/** Undefined for unusual headers. Those of a connection are read once while they stay the same. */
function createHeaderReader(deps: GatewayServerDeps): (request: IncomingMessage) => UsualHeaders | undefined {
  const isHostAllowed = createHostCheck(deps);
  const known = new WeakMap<Socket, UsualHeaders>();
  return (request) => {
    const { socket, rawHeaders } = request;
    const last = known.get(socket);
    if (last && isSame(rawHeaders, last)) return last;
    const { headers } = request;
    const credential = credentialIn(headers);
    const contentType = headers['content-type'] ?? '';
    const isUsual =
      isHostAllowed(headers.host ?? '') &&
      /^application\/json(?:; ?charset=utf-8)?$/i.test(contentType) &&
      unusual.every((name) => headers[name] === undefined);
    const lengthIndex = rawHeaders.findIndex((name) => name.toLowerCase() === 'content-length') + 1;
    const routing = isUsual ? routingOf(headers, deps) : undefined;
    if (credential === undefined || !routing || lengthIndex % 2 === 0) return undefined;
    const read = { raw: rawHeaders, lengthIndex, credential, contentType, routing };
    known.set(socket, read);
    return read;
  };
}

function routingOf(
  headers: IncomingMessage['headers'],
  { gateway }: Pick<GatewayServerDeps, 'gateway'>,
): RoutingHeaders | undefined {
  try {
    return parseRoutingHeaders(headers, gateway.defaults);
  } catch {
    return undefined;
  }
}

/** But for the length of the body. */
function isSame(raw: readonly string[], { raw: last, lengthIndex }: UsualHeaders): boolean {
  if (raw.length !== last.length) return false;
  for (let index = 0; index < raw.length; index++)
    if (raw[index] !== last[index] && index !== lengthIndex) return false;
  return true;
}

/* ---- bodies ---- */

const checkIntervalMs = 1_000;

interface ReceivedBody extends Listed {
  readonly socket: Socket;
  /** Monotonic. */
  readonly begunAt: number;
}

/** Reads bodies whole. One timer for all of them: a timer each costs more than reading one. */
class ReceivedBodies {
  readonly #deps: Pick<GatewayServerDeps, 'clock'>;
  readonly #timeoutMs: number;
  readonly #onTooSlow: (socket: Socket) => void;
  readonly #receiving = new SlotList<ReceivedBody>();
  #isChecking = false;

  constructor(
    deps: Pick<GatewayServerDeps, 'clock'>,
    timeoutMs: number,
    onTooSlow: (socket: Socket) => void,
  ) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
    this.#onTooSlow = onTooSlow;
  }

  /** The result must be deleted when the connection is closed. */
  receive(request: IncomingMessage, begunAt: number, onBody: (body: Buffer) => void): ReceivedBody {
    const chunks: Buffer[] = [];
    const { socket } = request;
    const body: ReceivedBody = { slot: undefined, socket, begunAt };
    this.#receiving.add(body);
    this.#check();
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.#receiving.delete(body);
      const [only] = chunks;
      onBody(chunks.length === 1 && only ? only : Buffer.concat(chunks));
    });
    return body;
  }

  delete(body: ReceivedBody): void {
    this.#receiving.delete(body);
  }

  #check(): void {
    if (this.#isChecking) return;
    this.#isChecking = true;
    this.#deps.clock.after(checkIntervalMs, () => {
      const begunBefore = this.#deps.clock.monotonic() - this.#timeoutMs;
      for (const { socket, begunAt } of this.#receiving.values())
        if (begunAt <= begunBefore) this.#onTooSlow(socket);
      this.#isChecking = false;
      if (this.#receiving.size > 0) this.#check();
    });
  }
}
