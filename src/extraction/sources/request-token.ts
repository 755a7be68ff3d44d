// The call that turns credentials into a token: Looker's login, OAuth client credentials, anybody's login call.
import type { ExtractionError } from '../errors.ts';
import { FetchFailure } from '../errors.ts';
import type { JsonPath } from '../ports.ts';
import type { Token } from './authorizer.ts';
import type { Answer } from './answer.ts';
import type { Call, Caller } from './call.ts';
import type { SourceWords } from './connection-error.ts';
import { notASource, unauthenticated, unreachable } from './connection-error.ts';
import { failureOfKind, jsonObject, refusal } from './failures.ts';

type JsonObject = Readonly<Record<string, unknown>>;

export interface TokenRequest {
  readonly call: Call;
  readonly tokenPath: JsonPath;
  /** Where the answer tells the token's life in seconds; null: nowhere. */
  readonly expiresInPath: JsonPath | null;
  readonly words: SourceWords;
  /** Whether a refusal speaks of the credentials. `body` is undefined unless it was a JSON object. */
  readonly refusesCredentials: (status: number, body: JsonObject | undefined) => boolean;
}

/** Fails with an ExtractionError whose cause is the FetchFailure that a page would fail with. */
export async function requestToken(
  call: Caller,
  request: TokenRequest,
  now: number,
  signal: AbortSignal,
): Promise<Token> {
  const { words, tokenPath, expiresInPath } = request;
  const answer = await answered(call, request, signal);
  const body = jsonObject(answer.bytes);
  if (answer.status < 200 || answer.status > 299) {
    if (request.refusesCredentials(answer.status, body)) throw unauthenticated(words, answer.status);
    throw refusedLogin(words, answer, now);
  }
  const token = valueAt(body, tokenPath);
  if (typeof token !== 'string' || token === '') {
    const what = body ? `its login gives no ${tokenPath.join('.')}` : 'its login is not answered with JSON';
    throw notASource(words, what, new FetchFailure(failureOfKind('malformed', answer.status), what));
  }
  const seconds = Number(expiresInPath === null ? Number.NaN : valueAt(body, expiresInPath));
  return { value: token, lifetimeMs: seconds > 0 ? seconds * 1000 : null };
}

async function answered(call: Caller, request: TokenRequest, signal: AbortSignal): Promise<Answer> {
  try {
    return await call(request.call, signal);
  } catch (error) {
    throw error instanceof FetchFailure ? unreachable(request.words, error) : error;
  }
}

/** Not for the credentials: busy or broken, moved, or somebody else's server. */
function refusedLogin(words: SourceWords, answer: Answer, now: number): ExtractionError {
  const failure = refusal(answer, now);
  if (failure.failure.isTransient) return unreachable(words, failure);
  const location = answer.headers['location'];
  const what =
    answer.status >= 300 && answer.status < 400 && location !== undefined
      ? `it redirects to ${location.split('?')[0]}`
      : `its login is answered with ${answer.status}`;
  return notASource(words, what, failure);
}

function valueAt(value: unknown, path: JsonPath): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as JsonObject)[key] : undefined),
    value,
  );
}
