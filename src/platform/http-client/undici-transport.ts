// HTTP with undici.
import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';
import type { Clock, HttpAnswer, HttpRequest, HttpTransport } from '../../core/index.ts';
import { systemClock } from '../../core/index.ts';
import type { Timeouts } from './exchange.ts';
import { ExchangeWatch, UndiciExchange } from './exchange.ts';
import { createHttpResponse } from './response.ts';

export interface UndiciTransportOptions {
  /** Most connections to one origin at once; further requests wait for one. Default 64. */
  readonly connectionsPerOrigin?: number;
  /** Longest wait for a connection, and the most a request may ask for. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** For requests that set none. Default 120 s. */
  readonly headersTimeoutMs?: number;
  /** For requests that set none. Default 120 s. */
  readonly bodyTimeoutMs?: number;
  /** How long an idle connection is kept. Default 4 s. */
  readonly keepAliveMs?: number;
  /** False accepts any certificate: for tests against self-signed servers only. Default true. */
  readonly rejectUnauthorized?: boolean;
  /** Certificate authorities to trust instead of the built-in ones (PEM). */
  readonly certificateAuthorities?: readonly string[];
  /** Finds the addresses of a name. Default: as the system does. Not asked about addresses that are written out. */
  readonly lookup?: LookupFunction;
  readonly clock?: Clock;
}

/**
 * Timeouts are kept here, not by undici: its timers are half a second coarse, and it knows no per-request limit for
 * the connection. `close` stops what is under way ("aborted").
 */
export function createUndiciTransport(options: UndiciTransportOptions): HttpTransport {
  const clock = options.clock ?? systemClock;
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000;
  const agent = new Agent({
    connections: options.connectionsPerOrigin ?? 64,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? 4_000,
    connect: {
      timeout: connectTimeoutMs,
      rejectUnauthorized: options.rejectUnauthorized ?? true,
      ...(options.certificateAuthorities ? { ca: [...options.certificateAuthorities] } : {}),
      ...(options.lookup ? { lookup: options.lookup } : {}),
    },
  });

  const targets = new Targets();

  return {
    request(request) {
      const timeouts: Timeouts = {
        connectTimeoutMs: Math.min(request.connectTimeoutMs ?? connectTimeoutMs, connectTimeoutMs),
        headersTimeoutMs: request.headersTimeoutMs ?? options.headersTimeoutMs ?? 120_000,
        bodyTimeoutMs: request.bodyTimeoutMs ?? options.bodyTimeoutMs ?? 120_000,
        answerTimeoutMs: request.answerTimeoutMs ?? Number.POSITIVE_INFINITY,
      };
      return send({ agent, targets, clock }, request, timeouts);
    },
    close: () => agent.destroy(),
  };
}

interface Target {
  readonly origin: string;
  readonly pathname: string;
  readonly search: string;
}

/** Addresses that were taken apart. Those with a query are all different, and may hold secrets: they are not kept. */
class Targets {
  readonly #known = new Map<string, Target>();

  of(address: string): Target {
    const known = this.#known.get(address);
    if (known) return known;
    const { origin, pathname, search } = new URL(address);
    const target = { origin, pathname, search };
    if (search === '' && this.#known.size < mostTargets) this.#known.set(address, target);
    return target;
  }
}

const mostTargets = 256;

interface TransportParts {
  readonly agent: Agent;
  readonly targets: Targets;
  readonly clock: Clock;
}

async function send(
  { agent, targets, clock }: TransportParts,
  request: HttpRequest,
  timeouts: Timeouts,
): Promise<HttpAnswer> {
  const target = targets.of(request.url);
  const label = requestLabel(request.method, target);
  const watch = new ExchangeWatch(request, label, timeouts, clock);
  const exchange = new UndiciExchange(label, watch);
  watch.start((failure) => exchange.abandon(failure));
  if (!request.signal?.aborted) dispatch(agent, target, request, exchange);
  const { status, headers } = await exchange.head;
  const { bodyTimeoutMs } = timeouts;
  return createHttpResponse({ status, headers, source: exchange, clock, bodyTimeoutMs, label });
}

function dispatch(agent: Agent, target: Target, request: HttpRequest, exchange: UndiciExchange): void {
  try {
    agent.dispatch(
      {
        origin: target.origin,
        path: target.pathname + target.search,
        method: request.method,
        headers: request.headers ?? null,
        body: request.body ?? null,
      },
      exchange,
    );
  } catch (error) {
    exchange.onResponseError(null, error as Error);
  }
}

export function requestLabel(method: string, { origin, pathname }: Pick<URL, 'origin' | 'pathname'>): string {
  return `${method} ${origin}${pathname}`;
}
