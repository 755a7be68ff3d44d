import { describe, expect, it } from 'vitest';
import { HttpFailure } from '../../core/index.ts';
import { FetchError } from '../errors.ts';
import { unreachable } from './connect.ts';
import { failureOfKind } from './http-client.ts';

const labels = {
  server: 'Looker at https://acme.test',
  addressSetting: 'LOOKER_BASE_URL',
  credentialSettings: 'LOOKER_CLIENT_ID',
};

/** As undici and Node report it: a transport failure, caused by an error of undici, caused by an error of the socket. */
function failureWith(code: string): FetchError {
  const socket = Object.assign(new Error(`socket says ${code}`), { code });
  const wrapped = Object.assign(new Error('fetch failed', { cause: socket }), { code: 'UND_ERR_SOCKET' });
  return new FetchError(failureOfKind('network'), 'x', new HttpFailure('network', 'x', wrapped));
}

const codes: readonly (readonly [code: string, message: RegExp])[] = [
  ['ENOTFOUND', /host name that cannot be resolved \(ENOTFOUND\); check LOOKER_BASE_URL\.$/],
  ['EAI_AGAIN', /host name that cannot be resolved/],
  ['ECONNREFUSED', /refuses the connection .*and its port\.$/],
  ['EHOSTUNREACH', /cannot be reached over the network/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', /certificate that is not trusted .*NODE_EXTRA_CA_CERTS\.$/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', /certificate that is not trusted/],
  ['CERT_HAS_EXPIRED', /certificate that is not trusted/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /certificate that is not trusted/],
  ['ERR_SSL_WRONG_VERSION_NUMBER', /does not accept TLS on this port/],
  ['EPROTO', /does not accept TLS on this port/],
  ['HPE_INVALID_CONSTANT', /does not accept HTTP on this port/],
  ['ECONNRESET', /returns no usable response \(ECONNRESET\); check LOOKER_BASE_URL\.$/],
];

describe('why a source cannot be reached', () => {
  it.for(codes)('explains %s', ([code, message]) => {
    const error = unreachable(labels, failureWith(code));
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/^Looker at https:\/\/acme\.test [^\n]*\.$/);
    expect(error.cause).toBeInstanceOf(FetchError);
  });

  it('a busy server: with the time until a retry', () => {
    const failure = {
      kind: 'rate-limit',
      isTransient: true,
      status: 429,
      hint: { retryAfterMs: 6_500, source: 'retry-after' },
    } as const;
    expect(unreachable(labels, new FetchError(failure, 'x'))).toMatchObject({
      message:
        'Looker at https://acme.test rejects the call because of a rate limit (429); try again in 7 s.',
      isRetryable: true,
      retryAfterMs: 6_500,
    });
  });

  it('a failing server, a slow one, and one that rejects the call', () => {
    const of = (kind: 'server-error' | 'timeout' | 'validation', status?: number) =>
      unreachable(labels, new FetchError(failureOfKind(kind, status), 'x')).message;
    expect(of('server-error', 502)).toMatch(/returns 502; try again later\.$/);
    expect(of('timeout')).toMatch(/does not respond in time; check LOOKER_BASE_URL, and the network/);
    expect(of('validation', 405)).toMatch(/returns 405; check LOOKER_BASE_URL\.$/);
  });
});
