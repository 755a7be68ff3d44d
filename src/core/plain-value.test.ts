import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CoreError } from './errors.ts';
import { plainValue } from './plain-value.ts';

describe('plainValue', () => {
  it('keeps plain data unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.stringify(plainValue(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('turns any value into JSON', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }),
        (value) => {
          expect(() => JSON.stringify(plainValue({ value }))).not.toThrow();
        },
      ),
    );
  });

  it('writes errors as class, code, message and cause', () => {
    const cause = Object.assign(new TypeError('below'), { code: 'EBELOW' });
    const error = new CoreError('NOT_FOUND', 'Not there.', { cause });
    expect(plainValue(error)).toEqual({
      class: 'CoreError',
      code: 'NOT_FOUND',
      message: 'Not there.',
      cause: { class: 'TypeError', code: 'EBELOW', message: 'below' },
    });
    expect(plainValue(new AggregateError([new Error('one')], 'several'))).toEqual({
      class: 'AggregateError',
      message: 'several',
      errors: [{ class: 'Error', message: 'one' }],
    });
    expect(plainValue(new Error('x'), { stacks: true })).toMatchObject({
      stack: expect.stringContaining('plain-value.test.ts') as string,
    });
  });

  it('represents values that JSON lacks', () => {
    expect(
      plainValue({
        date: new Date(0),
        badDate: new Date(Number.NaN),
        bytes: new Uint8Array(3),
        map: new Map([['a', 1]]),
        set: new Set([1, undefined]),
        url: new URL('http://example.com/'),
        big: 10n,
        infinite: Number.POSITIVE_INFINITY,
        nothing: undefined,
        code: () => 1,
        list: [undefined, 1],
      }),
    ).toEqual({
      date: '1970-01-01T00:00:00.000Z',
      badDate: 'Invalid Date',
      bytes: '[3 bytes]',
      map: { a: 1 },
      set: [1, null],
      url: 'http://example.com/',
      big: '10',
      infinite: 'Infinity',
      list: [null, 1],
    });
  });

  it('replaces circular references and deep levels by a note, but repeats an object that occurs twice', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = { again: circle };
    expect(plainValue(circle)).toEqual({ self: { again: '[circular]' } });
    const shared = { a: 1 };
    expect(plainValue([shared, shared])).toEqual([shared, shared]);
    let deep: unknown = 'bottom';
    for (let level = 0; level < 80; level += 1) deep = [deep];
    expect(JSON.stringify(plainValue(deep))).toContain('[too deep]');
    const error = new Error('loop');
    error.cause = error;
    expect(plainValue(error)).toMatchObject({ cause: '[circular]' });
  });

  it('survives getters and toJSON that throw', () => {
    const hostile = {
      get field(): string {
        throw new Error('no');
      },
    };
    const worse = {
      toJSON: () => {
        throw new Error('no');
      },
    };
    expect(plainValue({ hostile, worse, fine: 1 })).toEqual({
      hostile: '[unreadable]',
      worse: '[unreadable]',
      fine: 1,
    });
  });

  it('does not let a key change the prototype', () => {
    const plain = plainValue(JSON.parse('{"__proto__": {"isAdmin": true}}')) as Record<string, unknown>;
    expect(plain['isAdmin']).toBeUndefined();
    expect(Object.keys(plain)).toEqual(['__proto__']);
  });

  it('applies its rules to texts, keys and fields', () => {
    const rules = {
      text: (text: string) => text.toUpperCase(),
      field: (key: string) => (key === 'hidden' ? 'masked' : undefined),
    };
    expect(plainValue({ a: ['b'], hidden: { c: 'd' } }, rules)).toEqual({ A: ['B'], HIDDEN: 'masked' });
  });
});
