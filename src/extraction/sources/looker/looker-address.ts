// Where a Looker's API is, from what people write as its address.
import { ExtractionError } from '../../errors.ts';

export interface LookerAddress {
  /** As people know it: `https://acme.looker.com:19999`. */
  readonly base: string;
  /** `https://acme.looker.com:19999/api/4.0` */
  readonly api: string;
  /** With port, if it is not the usual one. */
  readonly host: string;
}

/** Accepts it with or without `/api/4.0`, trailing slash and port. Fails with EXTRACTION_SOURCE_INVALID. */
export function lookerAddress(baseUrl: string): LookerAddress {
  const url = URL.canParse(baseUrl.trim()) ? new URL(baseUrl.trim()) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid('is no web address; write it like https://acme.looker.com');
  if (url.username !== '' || url.password !== '')
    throw invalid('holds a user or password; give LOOKER_CLIENT_ID and LOOKER_CLIENT_SECRET instead');
  if (url.search !== '' || url.hash !== '')
    throw invalid('ends in a query or fragment; write it like https://acme.looker.com');
  const path = url.pathname.replace(/\/+$/, '').replace(/\/api(\/\d+\.\d+)?$/, '');
  const base = url.origin + path.replace(/\/+$/, '');
  return { base, api: `${base}/api/4.0`, host: url.host };
}

function invalid(what: string): ExtractionError {
  return new ExtractionError('EXTRACTION_SOURCE_INVALID', `LOOKER_BASE_URL ${what}.`);
}
