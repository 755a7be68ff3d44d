// What a verification finds, counted to the last; only the first findings are kept.

export interface VaultProblem {
  /** `damaged`: what is in the file is not what was written. `incomplete`: not everything is in the file. */
  readonly kind: 'damaged' | 'incomplete';
  readonly type: string | null;
  readonly id: string | null;
  readonly message: string;
}

export interface VerifyReport {
  readonly isSound: boolean;
  readonly isComplete: boolean;
  readonly checked: { readonly items: number; readonly versions: number; readonly pages: number };
  /** The first `mostProblems` of them. */
  readonly problems: readonly VaultProblem[];
  readonly problemCount: number;
}

export const mostProblems = 100;

export class Tally {
  items = 0;
  versions = 0;
  pages = 0;
  readonly #counts = { damaged: 0, incomplete: 0 };
  readonly #problems: VaultProblem[] = [];

  add(kind: VaultProblem['kind'], type: string | null, id: string | null, message: string): void {
    this.#counts[kind] += 1;
    if (this.#problems.length < mostProblems) this.#problems.push({ kind, type, id, message });
  }

  report(): VerifyReport {
    const { damaged, incomplete } = this.#counts;
    return {
      isSound: damaged === 0,
      isComplete: incomplete === 0,
      checked: { items: this.items, versions: this.versions, pages: this.pages },
      problems: this.#problems,
      problemCount: damaged + incomplete,
    };
  }
}
