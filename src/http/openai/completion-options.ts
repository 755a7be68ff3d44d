// The options of a completion from an HTTP request: routing headers, caller, request id, disconnects.
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IdSource } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { CompletionOptions } from '../../gateway/index.ts';
import type { Caller } from '../access.ts';
import type { ServerDeps } from '../deps.ts';
import { clientAbortSignal } from '../lifecycle.ts';

/** Fails with INPUT_INVALID for an invalid routing header. */
export function completionOptions(
  request: FastifyRequest,
  reply: FastifyReply,
  { gateway, ids }: Pick<ServerDeps, 'gateway' | 'ids'>,
): CompletionOptions {
  return {
    requestId: attemptsId(request, ids),
    caller: callerName(request.caller),
    ...parseRoutingHeaders(request.headers, gateway.defaults),
    signal: clientAbortSignal(reply.raw, reply.server.traffic),
  };
}

export function callerName(caller: Caller | null): string {
  return caller?.kind === 'gateway' ? `key:${caller.keyId}` : 'admin';
}

const suffixBytes = 6;

/**
 * The id that groups the attempts of a request: its request id. If the caller chose that, a random suffix is added: a
 * request counts once per model, and a caller that reuses one id would count only once.
 */
export function attemptsId(request: Pick<FastifyRequest, 'id' | 'headers'>, ids: IdSource): string {
  return request.headers['x-request-id'] === request.id
    ? `${request.id}/${ids.token(suffixBytes)}`
    : request.id;
}

export type RoutingHeaders = Pick<CompletionOptions, 'allowFallback' | 'deadlineMs' | 'waitMs'>;

/** Fails with INPUT_INVALID, naming the header. */
export function parseRoutingHeaders(
  headers: IncomingHttpHeaders,
  defaults: { readonly deadlineMs: number; readonly waitMs: number },
): RoutingHeaders {
  const fallback = headers['x-headworks-fallback'];
  if (fallback !== undefined && fallback !== 'none' && fallback !== 'all')
    throw invalid('x-headworks-fallback', 'none or all');
  return {
    allowFallback: fallback !== 'none',
    deadlineMs: parseSeconds(headers, 'x-headworks-timeout', 0.1) ?? defaults.deadlineMs,
    waitMs: parseSeconds(headers, 'x-headworks-wait', 0) ?? defaults.waitMs,
  };
}

const maxSeconds = 3_600;

/** In milliseconds; undefined without the header. */
function parseSeconds(headers: IncomingHttpHeaders, name: string, min: number): number | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  const seconds =
    typeof value === 'string' && /^\d{1,4}(\.\d{1,3})?$/.test(value) ? Number(value) : Number.NaN;
  if (seconds >= min && seconds <= maxSeconds) return seconds * 1_000;
  throw invalid(name, `seconds from ${min} to ${maxSeconds}`);
}

function invalid(name: string, allowed: string): CoreError {
  return new CoreError('INPUT_INVALID', `The header ${name} must be ${allowed}.`, {
    details: { field: name },
  });
}
