import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageBuffers } from './worker-pool.ts';

const kilobyte = 1024;
const page = (size: number, value = 1): Uint8Array => new Uint8Array(size).fill(value);

describe('PageBuffers', () => {
  it('holds a shared copy of exactly these bytes', () => {
    const held = new PageBuffers(1_000_000).share(Buffer.from('{"id":"größe"}'));
    expect(held.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(Buffer.from(held).toString()).toBe('{"id":"größe"}');
  });

  it('uses the memory of a page again for one of about its size', () => {
    const buffers = new PageBuffers(10_000_000);
    const first = buffers.share(page(1_000 * kilobyte));
    buffers.release(first);
    const second = buffers.share(page(990 * kilobyte, 2));
    expect(second.buffer).toBe(first.buffer);
    expect(second).toHaveLength(990 * kilobyte);
    expect(buffers.share(page(990 * kilobyte)).buffer).not.toBe(first.buffer);
  });

  it('does not keep a large buffer busy with a small page', () => {
    const buffers = new PageBuffers(10_000_000);
    const large = buffers.share(page(4_000 * kilobyte));
    buffers.release(large);
    expect(buffers.share(page(kilobyte)).buffer.byteLength).toBeLessThan(32 * kilobyte);
  });

  it('keeps at most its maximum, and drops the least recently used buffer', () => {
    const buffers = new PageBuffers(2_500 * kilobyte);
    const held = [1, 2, 3].map((value) => buffers.share(page(1_000 * kilobyte, value)));
    for (const one of held) buffers.release(one);
    const again = [1, 2, 3].map(() => buffers.share(page(1_000 * kilobyte)).buffer);
    expect(again.slice(0, 2)).toEqual([held[2]?.buffer, held[1]?.buffer]);
    expect(again[2]).not.toBe(held[0]?.buffer);
  });

  it('rejects bytes that it never held', () => {
    expect(() => new PageBuffers(1).release(page(10))).toThrow(TypeError);
  });

  it('never reuses the memory of a page that is still held', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('hold' as const), size: fc.integer({ min: 1, max: 200_000 }) }),
      fc.record({ do: fc.constant('release' as const), nth: fc.nat(10) }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500_000 }), fc.array(step, { maxLength: 60 }), (max, steps) => {
        const buffers = new PageBuffers(max);
        const held: { bytes: Uint8Array; value: number; size: number }[] = [];
        steps.forEach((one, index) => {
          const value = (index % 250) + 1;
          if (one.do === 'hold')
            held.push({ bytes: buffers.share(page(one.size, value)), value, size: one.size });
          else for (const { bytes } of held.splice(one.nth, 1)) buffers.release(bytes);
          for (const { bytes, value: kept, size } of held) {
            expect(bytes.byteLength).toBe(size);
            expect([bytes[0], bytes[size >> 1], bytes.at(-1)]).toEqual([kept, kept, kept]);
          }
        });
        expect(new Set(held.map(({ bytes }) => bytes.buffer)).size).toBe(held.length);
      }),
      { numRuns: 60 },
    );
  });
});
