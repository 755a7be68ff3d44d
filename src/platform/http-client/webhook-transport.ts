// HTTP transport of webhooks: never into a private network, unless that is allowed.
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { lookup as lookUp } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { HttpTransport } from '../../core/index.ts';
import { HttpFailure } from '../../core/index.ts';
import { isPrivateAddress, isPrivateHost } from './addresses.ts';
import { createUndiciTransport } from './undici-transport.ts';

const connectionsPerOrigin = 8;

/** With `allowsPrivate` false, requests that would end at a private address fail with HttpFailure `network`. */
export function createWebhookTransport(allowsPrivate: boolean, resolve: Resolve = lookUp): HttpTransport {
  if (allowsPrivate) return createUndiciTransport({ connectionsPerOrigin });
  const transport = createUndiciTransport({ connectionsPerOrigin, lookup: publicLookup(resolve) });
  return {
    // Nothing is looked up for an address that is written out.
    request: async (request) => {
      const { hostname } = new URL(request.url);
      if (isPrivateHost(hostname)) throw notAllowed(hostname);
      return transport.request(request);
    },
    close: () => transport.close(),
  };
}

/** All addresses of a name, as node:dns looks them up. */
type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/** Connects only to addresses that were checked here: a name that resolves differently the next time has no effect. */
function publicLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, done) =>
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '', 0);
      const allowed = found.filter(({ address }) => !isPrivateAddress(address));
      const [first] = allowed;
      if (!first) return done(notAllowed(hostname), '', 0);
      return options.all === true ? done(null, allowed) : done(null, first.address, first.family);
    });
}

const notAllowed = (hostname: string): HttpFailure =>
  new HttpFailure(
    'network',
    `${hostname} leads into a private network, where webhooks may not go. ` +
      'If it should, set deployments.allowPrivateWebhooks (HEADWORKS_WEBHOOK_ALLOW_PRIVATE) to true.',
  );
