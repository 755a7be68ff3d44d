import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { zipOf } from '../../../test/support/sample-documents.ts';
import { zipProblem } from './check-zip.ts';

describe('zipProblem', () => {
  it('finds nothing wrong with a valid file', () => {
    expect(
      zipProblem(
        zipOf([
          { name: 'a', content: 'b' },
          { name: 'empty', content: '' },
        ]),
      ),
    ).toBeNull();
  });

  it('measures the unpacked size of all entries instead of trusting their headers', () => {
    const content = Buffer.alloc(40_000_000);
    expect(zipProblem(zipOf([{ name: 'a', content, declaredLength: 3 }]))).toBeNull();
    const two = zipOf([
      { name: 'a', content, declaredLength: 3 },
      { name: 'b', content, declaredLength: 3 },
    ]);
    expect(zipProblem(two)).toMatch(/unpacks to more than 64 MiB/);
  });

  it('finds entries that are protected', () => {
    expect(zipProblem(zipOf([{ name: 'a', content: 'b', flags: 1 }]))).toMatch(/password/);
  });

  it('survives any damage', () => {
    const good = Buffer.from(
      zipOf([
        { name: 'a', content: 'hello' },
        { name: 'b', content: 'x'.repeat(500) },
      ]),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255))),
        fc.nat(good.length),
        (changes, length) => {
          const bytes = Buffer.from(good);
          for (const [at, value] of changes) bytes[at] = value;
          const problem = zipProblem(bytes.subarray(0, length));
          expect(problem === null || problem.endsWith('.')).toBe(true);
        },
      ),
    );
  });
});
