// One simulated model: its script, its chance of faults, its quotas, its counts.
import { Chance, textHash } from '../chance.ts';
import type { Fault, SimulatedModel, Step } from './ports.ts';
import { QuotaCounter } from './quota-counter.ts';

export class ModelBehaviour {
  readonly model: SimulatedModel;
  readonly #seed: number;
  #quota: QuotaCounter;
  #steps: Step[] = [];
  #calls = 0;
  #answered = new Map<string, number>();

  constructor(model: SimulatedModel, seed: number) {
    this.model = model;
    this.#seed = seed;
    this.#quota = new QuotaCounter(model.quotas);
    this.script(model.script);
  }

  get quota(): QuotaCounter {
    return this.#quota;
  }

  script(steps: readonly Step[]): void {
    this.#steps = steps.flatMap((step) => (step === 'ok' ? [step] : Array<Step>(step.times ?? 1).fill(step)));
  }

  reset(): void {
    this.#calls = 0;
    this.#answered = new Map();
    this.#quota = new QuotaCounter(this.model.quotas);
    this.script(this.model.script);
  }

  /** Counts the call and says what happens to it: the same seed and the same number of the call, the same fault. */
  arrived(): { readonly number: number; readonly fault: Fault | undefined } {
    this.#calls += 1;
    const step = this.#steps.shift();
    if (step !== undefined) return { number: this.#calls, fault: step === 'ok' ? undefined : step };
    const chance = new Chance(this.#seed, textHash(this.model.name), this.#calls);
    // Every fault draws, whether or not one before it has hit: what happens to one does not move the others.
    const hits = this.model.faults.filter(({ probability }) => chance.hits(probability));
    return { number: this.#calls, fault: hits[0] };
  }

  answered(status: number | 'none'): void {
    this.#answered.set(String(status), (this.#answered.get(String(status)) ?? 0) + 1);
  }

  stats(): { readonly calls: number; readonly answered: Readonly<Record<string, number>> } {
    const sorted = [...this.#answered].sort(([a], [b]) => (a < b ? -1 : 1));
    return { calls: this.#calls, answered: Object.fromEntries(sorted) };
  }
}
