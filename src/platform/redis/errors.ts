// Translates errors of Redis and its client: one line with the remedy, and never a password.
import { CoreError, messageOf } from '../../core/errors.ts';

/** Replies that do not pass by waiting. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [
    /^NOAUTH|called without any password/i,
    'it needs a password. Put it into REDIS_URL, before the host, as user:password@ (or :password@).',
  ],
  [
    /^WRONGPASS|invalid (username-)?password/i,
    'it does not accept the user or password. Correct them in REDIS_URL.',
  ],
  [/^NOPERM/, 'the user may not run the commands we need. Grant it +@all on our keys (ACL SETUSER).'],
  [/DB index is out of range/i, 'it has no such database number. Correct the number in REDIS_URL.'],
];

/** Replies that do not come from a Redis. */
const foreignReply =
  /unknown RESP type|protocol error|unexpected (character|token)|got .* as reply type|unsupported protocol|wrong version number/i;

/** REDIS_UNUSABLE if an administrator has to act, REDIS_UNAVAILABLE (retryable) for what may pass. */
export function redisError(error: unknown, address: string): CoreError {
  const message = messageOf(error);
  for (const [pattern, explanation] of refusals)
    if (pattern.test(message)) return unusable(address, explanation);
  if (foreignReply.test(message)) return notRedis(address);
  if (
    isReplyError(error) &&
    !/max number of clients|^(LOADING|MASTERDOWN|BUSY|READONLY|OOM|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|MISCONF)/.test(
      message,
    )
  )
    return new CoreError('INTERNAL', `Redis at ${address} rejected a command: ${message}`);
  return unavailable(address, message);
}

export function unavailable(address: string, reason: string): CoreError {
  return new CoreError(
    'REDIS_UNAVAILABLE',
    `Redis at ${address} is unavailable: ${reason.replace(/\.+$/, '')}. Headworks keeps trying; check that it runs and can be reached.`,
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
    'the server there does not use the Redis protocol. Correct host and port in REDIS_URL.',
  );
}

/** Whether the server itself replied with an error. */
export function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}
