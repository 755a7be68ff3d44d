// The simulation of admission over thousands of seeds; the unit tests run the first 200.
import { expect, it } from 'vitest';
import { simulateAdmission } from '../support/tenancy/admission-simulation.ts';

const seeds = 5_000;

it(`several servers keep to the limits and use them, for ${seeds} seeds (L3, L4, L5)`, async () => {
  for (let seed = 201; seed <= 200 + seeds; seed++)
    expect(await simulateAdmission(seed), `seed ${seed}`).toEqual([]);
});
