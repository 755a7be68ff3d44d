// Turns what Redis and its client throw into our errors: one line, the remedy, and never a password.
import { CoreError, messageOf } from '../../core/errors.ts';

/** Answers that no waiting heals. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [
    /^NOAUTH|called without any password/i,
    'it wants a password. Put it into REDIS_URL, before the host, as user:password@ (or :password@).',
  ],
  [
    /^WRONGPASS|invalid (username-)?password/i,
    'it does not accept the user or password. Correct them in REDIS_URL.',
  ],
  [/^NOPERM/, 'the user may not run the commands we need. Grant it +@all on our keys (ACL SETUSER).'],
  [/DB index is out of range/i, 'it has no such database number. Correct the number in REDIS_URL.'],
];

/** What does not come from a Redis at all. */
const foreignAnswer =
  /unknown RESP type|protocol error|unexpected (character|token)|got .* as reply type|unsupported protocol|wrong version number/i;

/** REDIS_UNUSABLE if Redis refuses for good, REDIS_UNAVAILABLE (worth another try) for everything that may pass. */
export function redisError(error: unknown, address: string): CoreError {
  const message = messageOf(error);
  for (const [pattern, explanation] of refusals)
    if (pattern.test(message)) return unusable(address, explanation);
  if (foreignAnswer.test(message)) return notRedis(address);
  if (
    isReplyError(error) &&
    !/max number of clients|^(LOADING|MASTERDOWN|BUSY|READONLY|OOM|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|MISCONF)/.test(
      message,
    )
  )
    return new CoreError('INTERNAL', `Redis at ${address} refused a command of ours: ${message}`);
  return unavailable(address, message);
}

export function unavailable(address: string, reason: string): CoreError {
  return new CoreError(
    'REDIS_UNAVAILABLE',
    `Redis at ${address} is away: ${reason.replace(/\.+$/, '')}. It is tried again by itself; check that it runs and can be reached.`,
    { isRetryable: true, details: { address } },
  );
}

export function unusable(address: string, explanation: string): CoreError {
  return new CoreError('REDIS_UNUSABLE', `Redis at ${address} cannot be used: ${explanation}`, {
    details: { address },
  });
}

export function notRedis(address: string): CoreError {
  return unusable(
    address,
    'what answers there does not speak the Redis protocol. Correct host and port in REDIS_URL.',
  );
}

/** Did the server itself answer with an error? */
export function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
