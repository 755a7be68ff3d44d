// The headers by which a caller of /v1 steers one request.
import type { IncomingHttpHeaders } from 'node:http';
import { CoreError } from '../../core/index.ts';

export interface RoutingHeaders {
  readonly allowFallback: boolean;
  readonly deadlineMs: number;
  readonly waitMs: number;
}

/** Fails with INPUT_INVALID for a header that is there but cannot be understood. */
export function parseRoutingHeaders(
  headers: IncomingHttpHeaders,
  defaults: { readonly deadlineMs: number; readonly waitMs: number },
): RoutingHeaders {
  const fallback = headers['x-headworks-fallback'];
  if (fallback !== undefined && fallback !== 'none' && fallback !== 'all')
    throw invalid('x-headworks-fallback', 'none or all');
  return {
    allowFallback: fallback !== 'none',
    deadlineMs: millisecondsOf(headers, 'x-headworks-timeout', 0.1) ?? defaults.deadlineMs,
    waitMs: millisecondsOf(headers, 'x-headworks-wait', 0) ?? defaults.waitMs,
  };
}

const longestSeconds = 3_600;

function millisecondsOf(headers: IncomingHttpHeaders, name: string, min: number): number | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  const seconds =
    typeof value === 'string' && /^\d{1,4}(\.\d{1,3})?$/.test(value) ? Number(value) : Number.NaN;
  if (seconds >= min && seconds <= longestSeconds) return seconds * 1_000;
  throw invalid(name, `seconds from ${min} to ${longestSeconds}`);
}

function invalid(name: string, allowed: string): CoreError {
  return new CoreError('INPUT_INVALID', `The header ${name} must be ${allowed}.`, {
    details: { field: name },
  });
}
