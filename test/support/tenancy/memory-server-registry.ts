// Reports of servers in memory.
import type { Clock } from '../../../src/core/index.ts';
import type { ServerRegistry, ServerReport } from '../../../src/tenancy/admission/types.ts';

export class MemoryServerRegistry implements ServerRegistry {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #leaseMs: number;
  readonly #reports = new Map<string, { readonly report: ServerReport; readonly at: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>, leaseSeconds: number) {
    this.#clock = clock;
    this.#leaseMs = leaseSeconds * 1_000;
  }

  async report(report: ServerReport): Promise<void> {
    const last = this.#reports.get(report.serverId);
    if (last && last.report.number >= report.number) return;
    this.#reports.set(report.serverId, { report: structuredClone(report), at: this.#clock.monotonic() });
  }

  async list(): Promise<readonly ServerReport[]> {
    const oldest = this.#clock.monotonic() - this.#leaseMs;
    return [...this.#reports.values()]
      .filter(({ at }) => at > oldest)
      .map(({ report }) => report)
      .sort((a, b) => (a.serverId < b.serverId ? -1 : 1));
  }

  async remove(serverId: string): Promise<void> {
    this.#reports.delete(serverId);
  }
}
