// Settings with a format of their own.
import { describe, expect, it } from 'vitest';
import { gatewayOptions } from './options.ts';

const { aliases, modelOrder, rateLimitCooldownSteps } = gatewayOptions.fields;

describe('the steps of cooldowns', () => {
  it.each([
    ['10,60, 600 ,3600', [10, 60, 600, 3_600]],
    ['0.5,5', undefined],
    ['10', [10]],
    [
      ['10', '60'],
      [10, 60],
    ],
    [
      [10, 60],
      [10, 60],
    ],
    ['', undefined],
    ['10,,60', undefined],
    ['0', undefined],
    ['2678401', undefined],
    ['10s', undefined],
    [[], []],
    [null, undefined],
  ])('%j are %j', (raw, expected) => {
    const parsed = rateLimitCooldownSteps.parse(raw);
    expect('value' in parsed ? parsed.value : undefined).toEqual(expected);
    if ('problem' in parsed) expect(parsed.problem).toContain('from 1 to 2678400');
  });
});

describe('aliases', () => {
  const parse = (raw: unknown) => {
    const parsed = aliases.parse(raw);
    return 'value' in parsed ? parsed.value : parsed.problem;
  };

  it('are names with one model, several, or a list', () => {
    const written = { 'gpt-4o-mini': 'groq/llama-3.3, auto', fast: ['a', 'b'], 'org/x': 'org/x,auto' };
    const expected = [
      { name: 'gpt-4o-mini', models: ['groq/llama-3.3', 'auto'] },
      { name: 'fast', models: ['a', 'b'] },
      { name: 'org/x', models: ['org/x', 'auto'] },
    ];
    expect(parse(written)).toEqual(expected);
    expect(parse(JSON.stringify(written))).toEqual(expected);
    expect(parse({})).toEqual([]);
  });

  it.each<[unknown, RegExp]>([
    ['a: b', /must be names with the models/],
    [['a'], /must be names with the models/],
    [{ a: 1 }, /a must have at least one model/],
    [{ a: ' , ' }, /a must have at least one model/],
    [{ auto: 'a' }, /auto cannot be an alias/],
    [{ 'a b': 'c' }, /"a b" is not a name/],
    [{ a: 'b c' }, /a: "b c" is not a name/],
    [{ a: 'b', b: 'c' }, /a: b is another alias/],
    [{ a: Array.from({ length: 33 }, (_, index) => `m${index}`) }, /a has more than 32 models/],
  ])('%j are rejected', (raw, problem) => {
    expect(parse(raw)).toMatch(problem);
  });
});

describe('the order of models', () => {
  it('is a list of names', () => {
    expect(modelOrder.parse('groq/x, y')).toEqual({ value: ['groq/x', 'y'] });
    expect(modelOrder.parse(['groq/x'])).toEqual({ value: ['groq/x'] });
    expect(modelOrder.parse('groq/x y')).toHaveProperty('problem');
  });
});
