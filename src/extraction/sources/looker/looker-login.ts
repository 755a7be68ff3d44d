// Looker's login: client id and secret in, a token for about an hour out.
import type { Clock } from '../../../core/index.ts';
import { requestToken, TokenAuthorizer } from '../auth.ts';
import type { SourceLabels } from '../connect.ts';
import type { Caller } from '../http-client.ts';
import type { LookerAddress } from './description.ts';

export interface LookerLoginOptions {
  readonly address: LookerAddress;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly call: Caller;
  readonly clock: Clock;
  readonly words: SourceLabels;
  readonly onSecret?: (token: string) => void;
}

export function createLookerAuthorizer(options: LookerLoginOptions): TokenAuthorizer {
  const { address, clientId, clientSecret, call, clock, words, onSecret } = options;
  const request = {
    call: {
      method: 'POST',
      url: new URL(`${address.api}/login`),
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret }).toString(),
    },
    tokenPath: ['access_token'],
    expiresInPath: ['expires_in'],
    words,
    refusesCredentials,
  } as const;
  return new TokenAuthorizer({
    login: (signal) => requestToken(call, request, clock.now(), signal),
    headersFor: (token) => ({ authorization: `token ${token}` }),
    clock,
    ...(onSecret ? { onSecret } : {}),
  });
}

/**
 * Looker answers wrong credentials with 404 or 400 and an error of its own form; a 404 without that form is a server
 * without such an API, and a 401 or 403 that is no JSON comes from something in front of it.
 */
function refusesCredentials(status: number, body: Readonly<Record<string, unknown>> | undefined): boolean {
  if (status === 401 || status === 403) return body !== undefined;
  const isLookerError = typeof body?.['message'] === 'string' && 'documentation_url' in body;
  return (status === 400 || status === 404 || status === 422) && isLookerError;
}
