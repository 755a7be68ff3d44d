import { describe, expect, it } from 'vitest';
import { isPrivateAddress, isPrivateHost } from './addresses.ts';

const hostOf = (url: string): string => new URL(url).hostname;

describe('a host', () => {
  it.each([
    'http://localhost',
    'http://LocalHost.:8080',
    'http://a.localhost',
    'http://127.0.0.1',
    'http://127.1',
    'http://0x7f000001',
    'http://2130706433',
    'http://0.0.0.0',
    'http://10.1.2.3',
    'http://100.64.0.1',
    'http://169.254.169.254',
    'http://172.31.255.255',
    'http://192.168.0.1',
    'http://224.0.0.1',
    'http://255.255.255.255',
    'http://[::]',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:a9fe:a9fe]',
    'http://[::ffff:0:127.0.0.1]',
    'http://[::ffff:0:a00:1]',
    'http://[64:ff9b::7f00:1]',
    'http://[2002:7f00:1::]',
    'http://[fd00::1]',
    'http://[fe80::1]',
  ])('is private: %s', (url) => expect(isPrivateHost(hostOf(url))).toBe(true));

  it.each([
    'http://example.com',
    'http://localhost.example.com',
    'http://notlocalhost',
    'http://8.8.8.8',
    'http://172.32.0.1',
    'http://192.169.0.1',
    'http://[::ffff:8.8.8.8]',
    'http://[2606:4700::1111]',
    'http://[2001:4860:4860::8888]',
  ])('is not: %s', (url) => expect(isPrivateHost(hostOf(url))).toBe(false));
});

it('a name is not an address, and an address with a zone is', () => {
  expect(isPrivateAddress('example.com')).toBe(false);
  expect(isPrivateAddress('fe80::1%eth0')).toBe(true);
});
