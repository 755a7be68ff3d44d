// A content call: authorized, asked again once after a 401, and refused answers turned into failures.
import type { Clock } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import { ExtractionError, FetchFailure } from '../errors.ts';
import type { Authorizer, Grant } from './authorizer.ts';
import type { Answer } from './answer.ts';
import type { Caller } from './call.ts';
import { failureOfKind, refusal, requireJson } from './failures.ts';

export interface JsonFetcher {
  readonly call: Caller;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

export interface JsonCall {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called when a call leaves; a second time when it is asked again. */
  readonly onSent?: (() => void) | undefined;
}

/** An answer whose body is JSON, by its look. Fails with a FetchFailure; a second 401 is `authentication`. */
export async function fetchJson(
  { call, authorizer, clock }: JsonFetcher,
  { url, headers, onSent }: JsonCall,
  signal: AbortSignal,
): Promise<Answer> {
  for (let isSecondTry = false; ; isSecondTry = true) {
    const grant = await granted(authorizer, signal);
    const answer = await call(
      {
        url,
        headers: { accept: 'application/json', ...headers, ...grant.headers },
        ...(onSent ? { onSent } : {}),
      },
      signal,
    );
    if (answer.status === 401 && grant.refused() && !isSecondTry) continue;
    if (answer.status < 200 || answer.status > 299) throw refusal(answer, clock.now());
    requireJson(answer);
    return answer;
  }
}

async function granted(authorizer: Authorizer, signal: AbortSignal): Promise<Grant> {
  try {
    return await authorizer.grant(signal);
  } catch (error) {
    if (signal.aborted)
      throw new FetchFailure(failureOfKind('canceled'), 'It was stopped while it waited for a login.', error);
    if (error instanceof ExtractionError && error.cause instanceof FetchFailure)
      throw new FetchFailure(error.cause.failure, messageOf(error), error);
    throw error;
  }
}
