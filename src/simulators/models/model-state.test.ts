// Faults of one simulated model: its script first, then deterministic random faults.
import { describe, expect, it } from 'vitest';
import { ModelState } from './model-state.ts';
import type { SimulatedModel } from './scenario.ts';
import { readScenario } from './scenario.ts';

function modelWith(more: object): SimulatedModel {
  const { providers } = readScenario({
    providers: [{ name: 'alpha', models: [{ name: 'large', ...more }] }],
  });
  const model = providers[0]?.models[0];
  if (!model) throw new Error('The scenario has no model.');
  return model;
}

const faultsOf = (state: ModelState, calls: number) =>
  Array.from({ length: calls }, () => state.begin().fault?.fault ?? 'ok');

describe('a script', () => {
  it('is applied once, in order, each step for its number of calls', () => {
    const script = [500, 'ok', { fault: 429, times: 3 }, 'hang'];
    const state = new ModelState(modelWith({ script }), 1);
    expect(faultsOf(state, 8)).toEqual(['500', 'ok', '429', '429', '429', 'hang', 'ok', 'ok']);
  });

  it('can be replaced, and is restored by a reset', () => {
    const state = new ModelState(modelWith({ script: [500, 500] }), 1);
    state.begin();
    state.script([{ fault: '401' }]);
    expect(faultsOf(state, 2)).toEqual(['401', 'ok']);
    state.reset();
    expect(state.stats()).toEqual({ calls: 0, responded: {} });
    expect(faultsOf(state, 3)).toEqual(['500', '500', 'ok']);
  });
});

describe('random faults', () => {
  const faults = [
    { fault: 503, probability: 0.3 },
    { fault: 'slow', probability: 0.3 },
  ];

  it('are the same for the same seed and differ for another', () => {
    const run = (seed: number) => faultsOf(new ModelState(modelWith({ faults }), seed), 200);
    expect(run(7)).toEqual(run(7));
    expect(run(7)).not.toEqual(run(8));
    expect(new Set(run(7))).toEqual(new Set(['503', 'slow', 'ok']));
  });

  it('depend on the number of the call alone', () => {
    const plain = faultsOf(new ModelState(modelWith({ faults }), 7), 50);
    const scripted = faultsOf(new ModelState(modelWith({ faults, script: ['hang', 'ok'] }), 7), 50);
    expect(scripted.slice(2)).toEqual(plain.slice(2));
  });

  it('occur with their probability', () => {
    const share = (probability: number) =>
      faultsOf(new ModelState(modelWith({ faults: [{ fault: 500, probability }] }), 3), 4_000).filter(
        (fault) => fault === '500',
      ).length / 4_000;
    expect([share(0), share(1)]).toEqual([0, 1]);
    expect(Math.abs(share(0.25) - 0.25)).toBeLessThan(0.03);
  });
});

it('counts calls and responses by status', () => {
  const state = new ModelState(modelWith({}), 1);
  for (const status of [200, 'none', 200, 429] as const) {
    state.begin();
    state.countResponse(status);
  }
  expect(state.stats()).toEqual({ calls: 4, responded: { 200: 2, 429: 1, none: 1 } });
});
