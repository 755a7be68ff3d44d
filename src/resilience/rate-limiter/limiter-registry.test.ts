// Limiters are told apart by host and credential, and credentials are not told at all.
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../core/virtual-clock.ts';
import { createRateLimiter } from './create-rate-limiter.ts';
import { limiterKey, RateLimiterRegistry } from './limiter-registry.ts';

describe('the limiter registry', () => {
  it('has one limiter per host and credential', () => {
    const clock = new VirtualClock();
    const registry = new RateLimiterRegistry(() => createRateLimiter({ limits: { perSecond: 1 }, clock }));
    const one = registry.get('api.example', 'key-1');
    expect(registry.get('API.example', 'key-1')).toBe(one);
    expect(registry.get('api.example', 'key-2')).not.toBe(one);
    expect(registry.get('other.example', 'key-1')).not.toBe(one);
    expect(registry.get('api.example', null)).not.toBe(one);
    expect([...registry.entries()]).toHaveLength(4);
  });

  it('names a credential only by a short hash', () => {
    const key = limiterKey('api.example', 'sk-very-secret');
    expect(key).toMatch(/^api\.example:[0-9a-f]{16}$/);
    expect(limiterKey('api.example', null)).toBe('api.example:anonymous');
  });
});
