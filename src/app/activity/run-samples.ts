// How runs went: some hundred samples of each, thinned out as a run goes on; of the last runs only.
import type { RunSample } from '../../http/index.ts';

const mostRuns = 50;
/** When there are so many, every other one goes. */
const mostSamples = 400;

interface Kept {
  samples: RunSample[];
  /** The least time between two samples: doubles with every thinning. */
  everyMs: number;
}

export class RunSamples {
  readonly #runs = new Map<string, Kept>();

  take(run: string, sample: RunSample): void {
    const kept = this.#runs.get(run) ?? { samples: [], everyMs: 1_000 };
    const last = kept.samples.at(-1);
    if (last && sample.at - last.at < kept.everyMs) return;
    kept.samples.push(sample);
    if (kept.samples.length >= mostSamples) {
      kept.samples = kept.samples.filter((_, index) => index % 2 === 0);
      kept.everyMs *= 2;
    }
    this.#runs.delete(run);
    this.#runs.set(run, kept);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > mostRuns && oldest !== undefined) this.#runs.delete(oldest);
  }

  of(run: string): readonly RunSample[] {
    return this.#runs.get(run)?.samples ?? [];
  }
}
