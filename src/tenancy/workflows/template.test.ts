import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { filled, parametersOf, templateProblem } from './template.ts';

describe('a template', () => {
  it('names its parameters, each once, in order', () => {
    expect(parametersOf('Dear {{name}}, {{ greeting }}! {{name}}')).toEqual(['name', 'greeting']);
    expect(parametersOf('no { } at all')).toEqual([]);
  });

  it('takes values as they are, once', () => {
    const values = { a: '{{b}} $& $1', b: 3, c: { d: [1] }, e: true };
    expect(filled('{{a}}|{{ b }}|{{c}}|{{e}}', values)).toBe('{{b}} $& $1|3|{"d":[1]}|true');
  });

  it('is text around values, whatever both are', () => {
    const plain = fc.string().map((text) => text.replaceAll(/[{}]/g, ''));
    fc.assert(
      fc.property(plain, plain, fc.string(), (before, after, value) => {
        expect(filled(`${before}{{x}}${after}`, { x: value })).toBe(before + value + after);
      }),
    );
  });

  it.each([
    ['Hello {{name}}', null],
    ['JSON like {"a": {"b": 1} }', null],
    ['{{first name}}', /"\{\{first name\}\}"/],
    ['{{}}', /letters/],
    ['{{1st}}', /begin with no digit/],
    ['Wait {{ timeout }} seconds', /"\{\{timeout\}\}", which no request can bring/],
    ['{{timeouts}} {{files}}', null],
    ['Hello {{name', /belong to no/],
    ['Hello name}}', /belong to no/],
    ['{{{name}}}', null],
  ])('%s', (template, problem) => {
    if (problem === null) expect(templateProblem(template)).toBeNull();
    else expect(templateProblem(template)).toMatch(problem);
  });
});
