import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as options from './options.ts';

const common = { describe: 'A demo.', env: 'DEMO' };
const accepts = (spec: options.OptionSpec<unknown>, raw: unknown): unknown => {
  const parsed = spec.parse(raw);
  return 'value' in parsed ? parsed.value : parsed;
};
const refused = (spec: options.OptionSpec<unknown>): options.Parsed<unknown> => ({
  problem: `must be ${spec.allowed}`,
});

describe('numberOption', () => {
  const spec = options.numberOption({ ...common, default: 1, min: 0, max: 100 });

  it('accepts every integer in its range, as text and as a number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 }), (number) => {
        expect(accepts(spec, number)).toBe(number);
        expect(accepts(spec, ` ${number} `)).toBe(number);
      }),
    );
  });

  it.each([
    '',
    ' ',
    '10s',
    '1e1',
    '0x10',
    '1_0',
    'NaN',
    'Infinity',
    '1.5',
    '-1',
    '101',
    true,
    null,
    [1],
    1.5,
  ])('rejects %j', (raw) => expect(spec.parse(raw)).toEqual(refused(spec)));

  it('accepts fractions if integer is false', () => {
    const fraction = options.numberOption({ ...common, default: 1, min: -1, max: 1, integer: false });
    expect(accepts(fraction, '-0.25')).toBe(-0.25);
    expect(fraction.parse(Number.NaN)).toEqual(refused(fraction));
  });
});

describe('booleanOption', () => {
  const spec = options.booleanOption({ ...common, default: false });

  it.each([
    ['true', true],
    ['YES', true],
    [' on ', true],
    ['1', true],
    [true, true],
    ['false', false],
    ['No', false],
    ['off', false],
    ['0', false],
    [false, false],
  ])('reads %j as %j', (raw, value) => expect(accepts(spec, raw)).toBe(value));

  it.each(['', 'maybe', 1, 0, null])('rejects %j', (raw) => expect(spec.parse(raw)).toEqual(refused(spec)));
});

describe('choiceOption', () => {
  const spec = options.choiceOption({ ...common, default: 'sql', choices: ['sql', 'age'] });

  it('accepts its choices only', () => {
    expect(accepts(spec, 'age')).toBe('age');
    for (const raw of ['SQL', '', 'other', null, 1]) expect(spec.parse(raw)).toEqual(refused(spec));
    expect(spec.allowed).toBe('one of sql, age');
  });
});

describe('textOption', () => {
  it('accepts text that is not empty and trims it', () => {
    const spec = options.textOption({ ...common, default: null });
    expect(accepts(spec, ' a b\n')).toBe('a b');
    for (const raw of ['', '  ', null, {}, true, 12]) expect(spec.parse(raw)).toEqual(refused(spec));
  });

  it('rejects text that does not match its pattern', () => {
    const spec = options.textOption({
      ...common,
      default: 'a',
      pattern: /^[a-z]+$/,
      allowed: 'small letters',
    });
    expect(accepts(spec, 'abc')).toBe('abc');
    expect(spec.parse('ABC')).toEqual({ problem: 'must be small letters' });
  });
});

describe('pathOption', () => {
  it('is text that config will make absolute', () => {
    const spec = options.pathOption({ ...common, default: '.headworks' });
    expect(accepts(spec, 'a/b')).toBe('a/b');
    expect(spec.isPath).toBe(true);
    expect(spec.parse('')).toEqual({ problem: 'must be a path' });
  });
});

describe('urlOption', () => {
  const spec = options.urlOption({ ...common, default: null, schemes: ['redis', 'rediss'] });

  it('accepts URLs of its schemes', () => {
    expect(accepts(spec, ' REDISS://:p%40ss@host:1/0 ')).toBe('REDISS://:p%40ss@host:1/0');
    for (const raw of ['http://host', 'redis:host', 'redis://a:b#c@host:x', '', null])
      expect(spec.parse(raw)).toEqual(refused(spec));
  });
});

describe('listOption', () => {
  const spec = options.listOption({ ...common, default: [], pattern: /^[a-z]+$/ });

  it('accepts an array, or text with commas', () => {
    expect(accepts(spec, 'a, b ,c')).toEqual(['a', 'b', 'c']);
    expect(accepts(spec, ['a', 'b'])).toEqual(['a', 'b']);
  });

  it.each(['a,,b', 'a,B', ['a', 1], {}, 3])('rejects %j', (raw) =>
    expect(spec.parse(raw)).toEqual(refused(spec)),
  );
});

describe('every option', () => {
  it('has its variables, flag, default and secrecy', () => {
    expect(
      options.textOption({
        ...common,
        env: ['NEW', 'OLD'],
        flag: 'demo',
        default: null,
        defaultText: 'none',
        secret: true,
      }),
    ).toMatchObject({ env: ['NEW', 'OLD'], flag: 'demo', default: null, defaultText: 'none', secret: true });
    const plain = options.booleanOption({ ...common, default: true });
    expect(plain).toMatchObject({ describe: 'A demo.', env: ['DEMO'], default: true, secret: false });
    expect(plain.flag).toBeUndefined();
  });

  it('accepts its own default where it has one', () => {
    const specs = [
      options.numberOption({ ...common, default: 5, min: 1, max: 9 }),
      options.booleanOption({ ...common, default: true }),
      options.choiceOption({ ...common, default: 'a', choices: ['a'] }),
      options.listOption({ ...common, default: ['x'] }),
    ];
    for (const spec of specs) expect(accepts(spec, spec.default)).toEqual(spec.default);
  });
});
