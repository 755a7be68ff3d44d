// Connecting to a source that may be busy: a few tries, but never a long wait to hear that a setting is wrong.
import type { Clock } from '../../core/index.ts';
import { messageOf } from '../../core/index.ts';
import type { FailedAttempt } from '../../resilience/index.ts';
import { exponentialBackoff, retry } from '../../resilience/index.ts';
import { ExtractionError, FetchError } from '../errors.ts';
import type { OnConnectWait } from '../types.ts';

/** Only a server that answers is asked again. */
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
export async function connectPatiently(
  work: (signal: AbortSignal) => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
  onWait?: OnConnectWait,
): Promise<void> {
  const onRetry = ({ error, delayMs }: FailedAttempt) => onWait?.(messageOf(error), delayMs);
  await retry(() => work(signal), policy, { clock, random: { next: () => 0 }, signal, onRetry });
}

// Why a source cannot be reached, in one line, and what to do about it.

/** How messages name a source and the settings that lead to it. */
export interface SourceLabels {
  /** `Looker at https://acme.looker.com` */
  readonly server: string;
  /** `LOOKER_BASE_URL` */
  readonly addressSetting: string;
  /** `LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET` */
  readonly credentialSettings: string;
}

/** EXTRACTION_UNREACHABLE for a call that failed, keeping whether and when another try makes sense. */
export function unreachable(words: SourceLabels, failure: FetchError): ExtractionError {
  const { isTransient, hint } = failure.failure;
  return new ExtractionError('EXTRACTION_UNREACHABLE', `${words.server} ${explained(words, failure)}`, {
    isRetryable: isTransient,
    ...(hint === undefined ? {} : { retryAfterMs: hint.retryAfterMs }),
    cause: failure,
  });
}

function explained(words: SourceLabels, failure: FetchError): string {
  const { kind, status, hint } = failure.failure;
  const check = `check ${words.addressSetting}`;
  if (kind === 'rate-limit')
    return `refuses us for a limit (${status}); try again ${hint === undefined ? 'later' : `in ${Math.ceil(hint.retryAfterMs / 1000)} s`}.`;
  if (status !== undefined) return `answers with ${status}; ${status >= 500 ? 'try again later' : check}.`;
  if (kind === 'timeout') return `does not answer in time; ${check}, and the network or firewall between.`;
  const code = deepestCode(failure);
  const known = code === undefined ? undefined : explanations.find(([pattern]) => pattern.test(code));
  if (known && code !== undefined) return `${known[1]} (${code}); ${known[2].replace('ADDRESS', check)}.`;
  return `gives no usable answer (${code ?? messageOf(failure)}); ${check}.`;
}

const explanations: readonly (readonly [code: RegExp, what: string, remedy: string])[] = [
  [/^ENOTFOUND$|^EAI_/, 'cannot be found by its name', 'ADDRESS'],
  [/^ECONNREFUSED$/, 'does not listen there', 'ADDRESS and its port'],
  [
    /^(E(HOST|NET)UNREACH|ENETDOWN)$/,
    'cannot be reached over the network',
    'ADDRESS, and the network or VPN',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/,
    'shows a certificate that is not trusted',
    'ADDRESS, or add its authority with NODE_EXTRA_CA_CERTS',
  ],
  [/^EPROTO$|SSL|TLS/, 'does not speak TLS there', 'ADDRESS: https or http, and the port'],
  [/^HPE_|^HTTPParserError$/, 'does not speak HTTP there', 'ADDRESS: https or http, and the port'],
];

/** The code nearest to the socket: undici wraps it once or twice, and has none for an answer that is not HTTP. */
function deepestCode(error: unknown): string | undefined {
  let code: string | undefined;
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const own: unknown = (at as { code?: unknown }).code;
    if (typeof own === 'string') code = own;
    else if (at.name === 'HTTPParserError') code = at.name;
  }
  return code;
}

/** EXTRACTION_UNREACHABLE for an answer that such a source does not give. */
export function notASource(words: SourceLabels, what: string, failure: FetchError): ExtractionError {
  return new ExtractionError(
    'EXTRACTION_UNREACHABLE',
    `${words.server} is not what it should be: ${what}; check ${words.addressSetting}.`,
    { cause: failure },
  );
}

/** EXTRACTION_UNAUTHENTICATED, naming what to correct. */
export function unauthenticated(words: SourceLabels, status: number): ExtractionError {
  const failure = new FetchError(
    { kind: 'authentication', isTransient: false, status, hint: undefined },
    `${words.server} refused the credentials with ${status}.`,
  );
  return new ExtractionError(
    'EXTRACTION_UNAUTHENTICATED',
    `${words.server} refuses the credentials (${status}); check ${words.credentialSettings}.`,
    { cause: failure },
  );
}
