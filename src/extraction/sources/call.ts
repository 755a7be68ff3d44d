// One call of somebody's API: bounded in time and size, every failure in its class.
import type { Clock, HttpAnswer, HttpTransport } from '../../core/index.ts';
import { HttpFailure, messageOf } from '../../core/index.ts';
import { classifyHttpFailure, withDeadline } from '../../resilience/index.ts';
import { FetchFailure } from '../errors.ts';
import type { Answer } from './answer.ts';
import { failureOfKind } from './failures.ts';

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
}

/** Fails with a FetchFailure when no answer came, `cancelled` when the signal stopped it. */
export type Caller = (call: Call, signal: AbortSignal) => Promise<Answer>;

export interface CallerOptions {
  readonly transport: HttpTransport;
  readonly clock: Clock;
  readonly limits?: Partial<CallLimits>;
}

/** Enough of a refusal to find its reason and hints in. */
const refusalBytes = 64 * 1024;

export function createCaller({ transport, clock, limits: given }: CallerOptions): Caller {
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
      });
      const isGood = answer.status >= 200 && answer.status < 300;
      const bytes = isGood ? await answer.bytes(limits.maxBytes) : await firstBytes(answer);
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
        : new FetchFailure(classifyHttpFailure(error, clock.now()), messageOf(error), error);
    } finally {
      deadline.dispose();
    }
  };
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
