// Messages between the main process of a server and its gateway processes, over the IPC channel of node:child_process.
import type { Config, Environment } from '../../config/index.ts';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { CoreErrorCode } from '../../core/index.ts';
import type { GatewayTopic } from '../../gateway/index.ts';

/** What a gateway process is started with. Secrets are sent here: arguments and environments are visible to others. */
export interface ProcessSettings {
  readonly config: Config;
  readonly env: Environment;
  readonly adminToken: string;
  /** Where the main process takes the requests that are passed on to it. */
  readonly mainUrl: string;
  readonly uploadTimeoutSeconds: number;
}

export type ToProcess =
  | { readonly kind: 'start'; readonly settings: ProcessSettings }
  /** With a socket. */
  | { readonly kind: 'connection' }
  | { readonly kind: 'changed'; readonly topic: GatewayTopic | 'everything' }
  | ({ readonly kind: 'reply'; readonly id: number } & Outcome)
  | { readonly kind: 'stop'; readonly graceMs: number };

export type FromProcess =
  | { readonly kind: 'ready' }
  /** The last connection. */
  | { readonly kind: 'taken' }
  | Call
  /** What happened since the last report. */
  | {
      readonly kind: 'report';
      readonly events: readonly ReportedEvent[];
      readonly load: { readonly inFlight: number; readonly queued: number };
    };

export type ReportedEvent = readonly [name: string, payload: Readonly<Record<string, unknown>>];

export interface Call {
  readonly kind: 'call';
  readonly id: number;
  readonly object: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

export type Outcome = { readonly value: unknown } | { readonly error: SentError };

interface SentError {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  /** Of our own errors. */
  readonly options: Pick<HeadworksError, 'isRetryable' | 'retryAfterMs' | 'details'> | undefined;
}

export function sentError(thrown: unknown): SentError {
  const { name, code }: NodeJS.ErrnoException = thrown instanceof Error ? thrown : new Error('unknown');
  const isOurs = thrown instanceof HeadworksError;
  return {
    name,
    message: messageOf(thrown),
    code,
    options: isOurs
      ? { isRetryable: thrown.isRetryable, retryAfterMs: thrown.retryAfterMs, details: thrown.details }
      : undefined,
  };
}

/** With the code, and so the meaning, that it had. */
export function receivedError({ name, message, code, options }: SentError): Error {
  if (options === undefined || code === undefined) return Object.assign(new Error(message), { name, code });
  const { retryAfterMs, ...rest } = options;
  const given = { ...rest, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  if (name === 'CoreError') return new CoreError(code as CoreErrorCode, message, given);
  return Object.assign(new HeadworksError(code, message, given), { name });
}
