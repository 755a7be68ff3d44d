// Tells whether an address is reachable from this machine only.
import { BlockList, isIP } from 'node:net';

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
