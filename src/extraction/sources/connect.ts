// Connecting to a source: a few retries while it is busy, and errors with a remedy.
import type { Clock } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import type { FailedAttempt } from '../../resilience/index.ts';
import { exponentialBackoff, retry } from '../../resilience/index.ts';
import { ExtractionError, FetchError } from '../errors.ts';
import type { OnConnectWait } from '../types.ts';

/** Only a server that responds is tried again: a wrong setting should be reported at once. */
const policy = {
  retries: 3,
  backoff: exponentialBackoff({ initialMs: 1_000, maxMs: 8_000, jitter: 'none' }),
  maxDelayMs: 60_000,
  isRetryable: (error: unknown) =>
    error instanceof ExtractionError &&
    error.isRetryable &&
    error.cause instanceof FetchError &&
    error.cause.failure.status !== undefined,
};

/** Fails with an ExtractionError or the signal's reason. */
export async function connectWithRetries(
  connect: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
  onWait?: OnConnectWait,
): Promise<void> {
  const onRetry = ({ error, delayMs }: FailedAttempt) => onWait?.(messageOf(error), delayMs);
  await retry(connect, policy, { clock, random: { next: () => 0 }, signal, onRetry });
}

/** How messages name a source and its settings. */
export interface SourceLabels {
  /** `Looker at https://acme.looker.com` */
  readonly server: string;
  /** `LOOKER_BASE_URL` */
  readonly addressSetting: string;
  /** `LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET` */
  readonly credentialSettings: string;
}

/** EXTRACTION_UNREACHABLE for a failed call, with whether and when a retry can help. */
export function unreachable(labels: SourceLabels, error: FetchError): ExtractionError {
  const { isTransient, hint } = error.failure;
  return new ExtractionError('EXTRACTION_UNREACHABLE', `${labels.server} ${explain(labels, error)}`, {
    isRetryable: isTransient,
    retryAfterMs: hint?.retryAfterMs,
    cause: error,
  });
}

function explain(labels: SourceLabels, error: FetchError): string {
  const { kind, status, hint } = error.failure;
  const check = `check ${labels.addressSetting}`;
  if (kind === 'rate-limit')
    return `rejects the call because of a rate limit (${status}); try again ${hint === undefined ? 'later' : `in ${Math.ceil(hint.retryAfterMs / 1000)} s`}.`;
  if (status !== undefined) return `returns ${status}; ${status >= 500 ? 'try again later' : check}.`;
  if (kind === 'timeout')
    return `does not respond in time; ${check}, and the network or firewall in between.`;
  const code = deepestCode(error);
  const known = code === undefined ? undefined : explanations.find(([pattern]) => pattern.test(code));
  if (known && code !== undefined) return `${known[1]} (${code}); ${known[2].replace('ADDRESS', check)}.`;
  return `returns no usable response (${code ?? messageOf(error)}); ${check}.`;
}

const explanations: readonly (readonly [code: RegExp, problem: string, remedy: string])[] = [
  [/^ENOTFOUND$|^EAI_/, 'has a host name that cannot be resolved', 'ADDRESS'],
  [/^ECONNREFUSED$/, 'refuses the connection', 'ADDRESS and its port'],
  [
    /^(E(HOST|NET)UNREACH|ENETDOWN)$/,
    'cannot be reached over the network',
    'ADDRESS, and the network or VPN',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/,
    'has a certificate that is not trusted',
    'ADDRESS, or add its authority with NODE_EXTRA_CA_CERTS',
  ],
  [/^EPROTO$|SSL|TLS/, 'does not accept TLS on this port', 'ADDRESS: https or http, and the port'],
  [/^HPE_|^HTTPParserError$/, 'does not accept HTTP on this port', 'ADDRESS: https or http, and the port'],
];

/** The code nearest to the socket: undici wraps it once or twice, and has none for a response that is not HTTP. */
function deepestCode(error: unknown): string | undefined {
  let code: string | undefined;
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const own: unknown = (at as { code?: unknown }).code;
    if (typeof own === 'string') code = own;
    else if (at.name === 'HTTPParserError') code = at.name;
  }
  return code;
}

/** EXTRACTION_UNREACHABLE for a response that such a source does not return. */
export function notThisSource(labels: SourceLabels, problem: string, error: FetchError): ExtractionError {
  return new ExtractionError(
    'EXTRACTION_UNREACHABLE',
    `${labels.server} does not respond as expected: ${problem}; check ${labels.addressSetting}.`,
    { cause: error },
  );
}

/** EXTRACTION_UNAUTHENTICATED, naming what to correct. */
export function unauthenticated(labels: SourceLabels, status: number): ExtractionError {
  const error = new FetchError(
    { kind: 'authentication', isTransient: false, status, hint: undefined },
    `${labels.server} rejected the credentials with ${status}.`,
  );
  return new ExtractionError(
    'EXTRACTION_UNAUTHENTICATED',
    `${labels.server} rejects the credentials (${status}); check ${labels.credentialSettings}.`,
    { cause: error },
  );
}
