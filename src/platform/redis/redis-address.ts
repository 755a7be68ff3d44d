// The part of a Redis URL that may be shown.
import { CoreError } from '../../core/errors.ts';

/** `host:port/database` of a Redis URL. Fails with CONFIG_INVALID, without repeating the URL, if it is none. */
export function redisAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isRedis = ['redis:', 'rediss:'].includes(parsed?.protocol ?? '');
  if (!parsed || !isRedis || parsed.hostname === '' || !/^\/?\d*$/.test(parsed.pathname))
    throw new CoreError(
      'CONFIG_INVALID',
      'REDIS_URL is not a Redis address. Write it as redis://host[:port][/database number], or rediss:// for TLS, with user:password@ before the host if it wants one.',
    );
  const database = parsed.pathname.replace(/^\//, '') || '0';
  return `${parsed.hostname}:${parsed.port || '6379'}/${database}`;
}
