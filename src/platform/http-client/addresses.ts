// Loopback and private addresses.
import { BlockList, isIP } from 'node:net';

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
