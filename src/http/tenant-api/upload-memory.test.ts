import { expect, it } from 'vitest';
import { UploadMemory } from './request-body.ts';

const full = expect.objectContaining({ code: 'DEPLOYMENT_UPLOADS_FULL', retryAfterMs: 2_000 }) as Error;

it('bounds the bytes of all requests, rejects before anything is read, and is reusable after disposal', () => {
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
