// What happens to the calls of one simulated model: its script first, then chance, the same with every run.
import { describe, expect, it } from 'vitest';
import { ModelBehaviour } from './model-behaviour.ts';
import type { SimulatedModel } from './ports.ts';
import { readScenario } from './scenario.ts';

function modelWith(more: object): SimulatedModel {
  const { providers } = readScenario({
    providers: [{ name: 'alpha', models: [{ name: 'large', ...more }] }],
  });
  const model = providers[0]?.models[0];
  if (!model) throw new Error('The scenario has no model.');
  return model;
}

const faultsOf = (behaviour: ModelBehaviour, calls: number) =>
  Array.from({ length: calls }, () => behaviour.arrived().fault?.fault ?? 'ok');

describe('a script', () => {
  it('is played once, in order, each step as often as it says', () => {
    const script = [500, 'ok', { fault: 429, times: 3 }, 'hang'];
    const behaviour = new ModelBehaviour(modelWith({ script }), 1);
    expect(faultsOf(behaviour, 8)).toEqual(['500', 'ok', '429', '429', '429', 'hang', 'ok', 'ok']);
  });

  it('can be replaced in the middle, and is back after a reset', () => {
    const behaviour = new ModelBehaviour(modelWith({ script: [500, 500] }), 1);
    behaviour.arrived();
    behaviour.script([{ fault: '401' }]);
    expect(faultsOf(behaviour, 2)).toEqual(['401', 'ok']);
    behaviour.reset();
    expect(behaviour.stats()).toEqual({ calls: 0, answered: {} });
    expect(faultsOf(behaviour, 3)).toEqual(['500', '500', 'ok']);
  });
});

describe('chance', () => {
  const faults = [
    { fault: 503, probability: 0.3 },
    { fault: 'slow', probability: 0.3 },
  ];

  it('falls the same way for the same seed, and another for another', () => {
    const run = (seed: number) => faultsOf(new ModelBehaviour(modelWith({ faults }), seed), 200);
    expect(run(7)).toEqual(run(7));
    expect(run(7)).not.toEqual(run(8));
    expect(new Set(run(7))).toEqual(new Set(['503', 'slow', 'ok']));
  });

  it('depends on the number of the call alone: a script before it moves nothing', () => {
    const plain = faultsOf(new ModelBehaviour(modelWith({ faults }), 7), 50);
    const scripted = faultsOf(new ModelBehaviour(modelWith({ faults, script: ['hang', 'ok'] }), 7), 50);
    expect(scripted.slice(2)).toEqual(plain.slice(2));
  });

  it('hits as often as it should: never, always, and in between', () => {
    const share = (probability: number) =>
      faultsOf(new ModelBehaviour(modelWith({ faults: [{ fault: 500, probability }] }), 3), 4_000).filter(
        (fault) => fault === '500',
      ).length / 4_000;
    expect([share(0), share(1)]).toEqual([0, 1]);
    expect(Math.abs(share(0.25) - 0.25)).toBeLessThan(0.03);
  });
});

it('counts calls and answers by status', () => {
  const behaviour = new ModelBehaviour(modelWith({}), 1);
  for (const status of [200, 'none', 200, 429] as const) {
    behaviour.arrived();
    behaviour.answered(status);
  }
  expect(behaviour.stats()).toEqual({ calls: 4, answered: { 200: 2, 429: 1, none: 1 } });
});
