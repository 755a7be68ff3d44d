import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTaskMs, repeatedTaskMs } from '../../test/support/longest-task.ts';
import { findJson } from './language-model.ts';

/** Values that JSON can represent and returns unchanged (no -0, no __proto__). */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const container = fc.oneof(fc.array(json), fc.dictionary(fc.string(), json)).map((value) => {
  return JSON.parse(JSON.stringify(value)) as unknown;
});
/** Prose without brackets, quotes or fences. */
const prose = fc.stringMatching(/^[abc XYZ.,:!?\n-]*$/);

describe('findJson', () => {
  it('returns any JSON unchanged', () => {
    fc.assert(
      fc.property(json, fc.constantFrom(0, 2), (value, indent) => {
        expect(findJson(` ${JSON.stringify(value, null, indent)}\n`)).toEqual({ value });
      }),
    );
  });

  it('finds it in a fence, with prose around', () => {
    fc.assert(
      fc.property(
        container,
        prose,
        prose,
        fc.constantFrom('json', '', 'JSON '),
        (value, before, after, name) => {
          const response = `${before}\n\`\`\`${name}\n${JSON.stringify(value, null, 2)}\n\`\`\`\n${after}`;
          expect(findJson(response)).toEqual({ value });
        },
      ),
    );
  });

  it('finds it in prose, longest first', () => {
    fc.assert(
      fc.property(container, prose, prose, (value, before, after) => {
        expect(findJson(`${before}${JSON.stringify(value)}${after}`)).toEqual({ value });
      }),
    );
    expect(findJson('As [1] says, the answer is {"a": [1, 2]}; see {x}.')).toEqual({ value: { a: [1, 2] } });
  });

  it('accepts commas before a closing bracket and names of Python, outside of strings', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string(), { minKeys: 1 }), (texts) => {
        const value = JSON.parse(JSON.stringify(texts)) as object;
        const written = JSON.stringify(value).replace(/\}$/, ',\n }');
        expect(findJson(written)).toEqual({ value });
      }),
    );
    expect(findJson('{"a": None, "b": [True, False,], "None": "True, ]",}')).toEqual({
      value: { a: null, b: [true, false], None: 'True, ]' },
    });
  });

  it('ignores the reasoning before the response', () => {
    expect(findJson('<think>Maybe {"a": 1, "and": "more"}?</think>\n{"a": 2}')).toEqual({ value: { a: 2 } });
    expect(findJson('<think>{"a": 1}</think>')).toEqual({ value: { a: 1 } });
  });

  it.each(['', 'I cannot do that.', '{"a": ', '```json\n{"a"\n```', '{a: 1}', 'x'.repeat(400_001)])(
    'finds nothing in text without JSON',
    (response) => {
      expect(findJson(response)).toBeUndefined();
    },
  );

  it('finds nothing in a text longer than the maximum', () => {
    const response = `{"a": "${'x'.repeat(400_000)}"}`;
    expect(findJson(response, 500_000)).toBeDefined();
    expect(findJson('{"a": 1}', 7)).toBeUndefined();
  });

  it('never throws and runs in bounded time', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[{}[\]"\\,:` \n1atN]*$/), (response) => {
        findJson(response);
      }),
      { numRuns: 500 },
    );
    const before = process.cpuUsage();
    for (const unit of ['{', '[', '"', '{"', '```\n', '```', '<think>', ',', ', ', '\\"', '{[', '{},'])
      findJson(unit.repeat(Math.floor(400_000 / unit.length)));
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(10_000);
  });

  it('does not parse an answer with more than 200,000 brackets and commas (B1)', () => {
    const list = (length: number) => JSON.stringify(Array.from({ length }, () => 1));
    expect(findJson(list(100_000), 2_000_000)).toBeDefined();
    expect(findJson(list(300_000), 2_000_000)).toBeUndefined();
  });

  it.each(['[', '{"a":', '"', '{"a":['])(
    'reads two million characters of %j without blocking (B1)',
    async (unit) => {
      const text = unit.repeat(Math.floor(2_000_000 / unit.length));
      expect(await repeatedTaskMs(() => findJson(text, 2_000_000))).toBeLessThan(maxTaskMs);
    },
  );
});
