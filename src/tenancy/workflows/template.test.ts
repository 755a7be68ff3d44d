import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fillTemplate, parametersOf, templateProblem } from './prompt.ts';

describe('a template', () => {
  it('lists its parameters, each once, in order', () => {
    expect(parametersOf('Dear {{name}}, {{ greeting }}! {{name}}')).toEqual(['name', 'greeting']);
    expect(parametersOf('no { } at all')).toEqual([]);
  });

  it('inserts values once, unchanged', () => {
    const values = { a: '{{b}} $& $1', b: 3, c: { d: [1] }, e: true };
    expect(fillTemplate('{{a}}|{{ b }}|{{c}}|{{e}}', values)).toBe('{{b}} $& $1|3|{"d":[1]}|true');
  });

  it('keeps the text around values, whatever both are', () => {
    const plain = fc.string().map((text) => text.replaceAll(/[{}]/g, ''));
    fc.assert(
      fc.property(plain, plain, fc.string(), (before, after, value) => {
        expect(fillTemplate(`${before}{{x}}${after}`, { x: value })).toBe(before + value + after);
      }),
    );
  });

  it.each([
    ['Hello {{name}}', null],
    ['JSON like {"a": {"b": 1} }', null],
    ['{{first name}}', /"\{\{first name\}\}"/],
    ['{{}}', /letters/],
    ['{{1st}}', /do not begin with a digit/],
    ['Wait {{ timeout }} seconds', /"\{\{timeout\}\}", which is reserved/],
    ['{{timeouts}} {{files}}', null],
    ['Hello {{name', /belong to no/],
    ['Hello name}}', /belong to no/],
    ['{{{name}}}', null],
  ])('checks the template %s', (template, problem) => {
    if (problem === null) expect(templateProblem(template)).toBeNull();
    else expect(templateProblem(template)).toMatch(problem);
  });
});
