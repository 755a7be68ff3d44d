import { expect, it } from 'vitest';
import { sizeText } from './size-text.ts';
import { UploadMemory } from './upload-memory.ts';

const full = expect.objectContaining({ code: 'DEPLOYMENT_UPLOADS_FULL', retryAfterMs: 2_000 }) as Error;

it('holds so many bytes of all together, refuses before anything is read, and is free again afterwards', () => {
  const memory = new UploadMemory(100);
  const one = memory.open(60);
  const two = memory.open(60);
  one.take(60);
  expect(() => memory.open(41)).toThrow(full);
  two.take(40);
  expect(() => two.take(1)).toThrow(full);
  expect(() => memory.open(0)).toThrow(full);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  expect(memory.held).toBe(40);
  two.take(60);
  two[Symbol.dispose]();
  expect(memory.held).toBe(0);
});

it.each([
  [10_485_760, '10 MiB'],
  [1_536, '1.5 KiB'],
  [50_000, '50000 bytes'],
  [0, '0 bytes'],
  [1_099_511_627_776, '1024 GiB'],
])('writes %d bytes as %s', (bytes, words) => expect(sizeText(bytes)).toBe(words));
