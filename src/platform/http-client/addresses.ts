// Loopback and private addresses; the HTTP transport of webhooks, which connects to neither unless that is allowed.
import { BlockList, isIP } from 'node:net';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { lookup as lookUp } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { HttpTransport } from '../../core/index.ts';
import { HttpFailure } from '../../core/index.ts';
import { createUndiciTransport } from './undici-transport.ts';

/** As in IANA's registries of special-purpose addresses; with those that encode an IPv4 address in another form. */
const ranges: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 32],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
];

const blocked = new BlockList();
for (const [network, prefix] of ranges)
  blocked.addSubnet(network, prefix, isIP(network) === 6 ? 'ipv6' : 'ipv4');

/**
 * Whether an IP address is private; an IPv4 address within IPv6 (`::ffff:10.0.0.1`) counts as what it is. False for
 * other text.
 */
export function isPrivateAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && blocked.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** Whether the host of a URL is a name that always means this machine, or a private address that is written out. */
export function isPrivateHost(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return /(^|\.)localhost$/.test(name) || isPrivateAddress(name.replace(/^\[(.*)\]$/, '$1'));
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  const version = isIP(bare);
  return version === 0
    ? bare.toLowerCase() === 'localhost'
    : loopback.check(bare, version === 4 ? 'ipv4' : 'ipv6');
}

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
