// Who asks a REST source: fixed headers, or a token from a call.
import type { Clock } from '../../../core/index.ts';
import type { Authorizer } from '../authorizer.ts';
import { TokenAuthorizer, fixedAuthorizer } from '../authorizer.ts';
import type { Caller } from '../call.ts';
import type { SourceWords } from '../connection-error.ts';
import { requestToken } from '../request-token.ts';
import type { RestSourceDefinition } from './rest-definition.ts';

export interface RestAuthorizerOptions {
  readonly call: Caller;
  readonly clock: Clock;
  readonly words: SourceWords;
  readonly onSecret?: (token: string) => void;
}

export function createRestAuthorizer(
  { auth, baseUrl, headers }: RestSourceDefinition,
  { call, clock, words, onSecret }: RestAuthorizerOptions,
): Authorizer & { close(): void } {
  if (auth.type !== 'token')
    return { ...fixedAuthorizer(auth.type === 'none' ? {} : auth.headers), close: () => undefined };
  const url = new URL(auth.url.startsWith('/') ? baseUrl + auth.url : auth.url);
  // The source's own headers are for its own server; a token may be given out by another.
  const own = url.origin === new URL(baseUrl).origin ? headers : {};
  const request = {
    call: {
      method: 'POST',
      url,
      headers: { accept: 'application/json', ...own, ...auth.headers },
      body: auth.body,
    },
    tokenPath: auth.tokenPath,
    expiresInPath: auth.expiresInPath,
    words,
    refusesCredentials: (status: number) => [400, 401, 403, 422].includes(status),
  } as const;
  return new TokenAuthorizer({
    login: (signal) => requestToken(call, request, clock.now(), signal),
    headersFor: (token) => ({ [auth.header]: auth.prefix + token }),
    clock,
    ...(onSecret ? { onSecret } : {}),
  });
}
