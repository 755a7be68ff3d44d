// The part of a Redis URL that may be shown.
import { CoreError } from '../../core/errors.ts';

/** `host:port/database` of a Redis URL. Fails with CONFIG_INVALID, without repeating the URL, if it is none. */
export function redisAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '')
    throw new CoreError(
      'CONFIG_INVALID',
      'REDIS_URL is not a Redis address. Write it as redis://[user:password@]host[:port][/database], or rediss:// for TLS.',
    );
  const database = parsed.pathname.replace(/^\//, '') || '0';
  return `${parsed.hostname}:${parsed.port || '6379'}/${database}`;
}
