// One call of somebody's API: with leave of the rate limiter, bounded in time and size, every failure in its class.
import type { Clock, HttpAnswer, HttpTransport } from '../../core/index.ts';
import { HttpFailure, messageOf } from '../../core/index.ts';
import type { Permit } from '../../resilience/index.ts';
import { classifyHttpFailure, withDeadline } from '../../resilience/index.ts';
import { FetchFailure } from '../errors.ts';
import type { Answer } from './answer.ts';
import { failureOfKind, refusal } from './failures.ts';

export interface CallLimits {
  readonly connectMs: number;
  /** Longest wait for the answer's first byte. */
  readonly firstByteMs: number;
  /** Longest silence in the middle of an answer. */
  readonly silenceMs: number;
  /** Longest time for the whole call: also ends an answer that drips for ever. */
  readonly totalMs: number;
  /** Largest answer that is taken in. */
  readonly maxBytes: number;
}

export const defaultCallLimits: CallLimits = {
  connectMs: 10_000,
  firstByteMs: 120_000,
  silenceMs: 30_000,
  totalMs: 600_000,
  maxBytes: 64 * 1024 * 1024,
};

export interface Call {
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Called when it leaves. */
  readonly onSent?: () => void;
}

/** Waits until one more call may be made. Its outcome is the caller's to tell. */
export type Leave = (signal: AbortSignal) => Promise<Permit>;

/** Fails with a FetchFailure when no answer came, `cancelled` when the signal stopped it. */
export type Caller = (call: Call, signal: AbortSignal) => Promise<Answer>;

export interface CallerOptions {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly limits?: Partial<CallLimits>;
  /** Asked before every call to `origin`, whatever it is for. Default: calls need no leave. */
  readonly leave?: Leave | undefined;
  /** The source's own server: a token that another one gives out is no call of the source. */
  readonly origin: string;
}

/** Enough of a refusal to find its reason and hints in. */
const refusalBytes = 64 * 1024;

export function createCaller({ leave, origin, ...options }: CallerOptions): Caller {
  const ask = createUnlimitedCaller(options);
  return async (call, signal) => {
    if (!leave || call.url.origin !== origin) return ask(call, signal);
    const permit = await given(leave, signal);
    try {
      const sent = () => {
        permit.sent();
        call.onSent?.();
      };
      const answer = await ask({ ...call, onSent: sent }, signal);
      report(permit, answer, options.clock.now());
      return answer;
    } finally {
      // Tells nothing if something was told.
      permit.failed();
    }
  };
}

async function given(leave: Leave, signal: AbortSignal): Promise<Permit> {
  try {
    return await leave(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new FetchFailure(failureOfKind('canceled'), 'It was stopped while it waited for its turn.', error);
  }
}

function report(permit: Permit, answer: Answer, now: number): void {
  if (isGood(answer.status)) return permit.succeeded();
  const { kind, hint } = refusal(answer, now).failure;
  if (kind === 'rate-limit') permit.rateLimited({ retryAfterMs: hint?.retryAfterMs });
}

const isGood = (status: number): boolean => status >= 200 && status < 300;

function createUnlimitedCaller({
  transport,
  clock,
  limits: given,
}: Omit<CallerOptions, 'leave' | 'origin'>): Caller {
  const limits = { ...defaultCallLimits, ...given };
  return async (call, signal) => {
    const method = call.method ?? 'GET';
    const label = `${method} ${call.url.origin}${call.url.pathname}`;
    const deadline = withDeadline(signal, limits.totalMs, clock, label);
    try {
      const answer = await transport.request({
        method,
        url: call.url.href,
        headers: call.headers,
        signal: deadline.signal,
        connectTimeoutMs: limits.connectMs,
        headersTimeoutMs: limits.firstByteMs,
        bodyTimeoutMs: limits.silenceMs,
        ...(call.body === undefined ? {} : { body: call.body }),
        ...(call.onSent ? { onSent: call.onSent } : {}),
      });
      const bytes = isGood(answer.status) ? await answer.bytes(limits.maxBytes) : await firstBytes(answer);
      return { status: answer.status, headers: answer.headers, bytes, label };
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      const isLate = deadline.signal.aborted && !signal.aborted;
      throw isLate
        ? new FetchFailure(
            failureOfKind('timeout'),
            `${label}: not finished within ${limits.totalMs} ms.`,
            error,
          )
        : new FetchFailure(classifyHttpFailure(error, clock.now()), explained(error), error);
    } finally {
      deadline.dispose();
    }
  };
}

function explained(error: HttpFailure): string {
  const remedy = ' Ask for less at once: use a smaller --batch-size and --retry-failed.';
  return messageOf(error) + (error.kind === 'too-large' ? remedy : '');
}

async function firstBytes(answer: HttpAnswer): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer.body) {
    read.push(piece);
    size += piece.byteLength;
    if (size >= refusalBytes) break;
  }
  return Buffer.concat(read).subarray(0, refusalBytes);
}
