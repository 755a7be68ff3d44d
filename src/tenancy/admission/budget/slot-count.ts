// A set of slots that knows how many each organization has.
import type { Slot } from '../ports.ts';

export class SlotCount {
  readonly #slots = new Map<string, string>();
  readonly #byOrganization = new Map<string, number>();

  get size(): number {
    return this.#slots.size;
  }

  of(organizationId: string): number {
    return this.#byOrganization.get(organizationId) ?? 0;
  }

  has(executionId: string): boolean {
    return this.#slots.has(executionId);
  }

  list(): readonly Slot[] {
    return [...this.#slots].map(([executionId, organizationId]) => ({ executionId, organizationId }));
  }

  add({ executionId, organizationId }: Slot): void {
    if (this.#slots.has(executionId)) return;
    this.#slots.set(executionId, organizationId);
    this.#byOrganization.set(organizationId, this.of(organizationId) + 1);
  }

  delete(executionId: string): void {
    const organizationId = this.#slots.get(executionId);
    if (organizationId === undefined) return;
    this.#slots.delete(executionId);
    const left = this.of(organizationId) - 1;
    if (left > 0) this.#byOrganization.set(organizationId, left);
    else this.#byOrganization.delete(organizationId);
  }

  /** Drops all others. */
  keep(isKept: (executionId: string) => boolean): void {
    for (const executionId of this.#slots.keys()) if (!isKept(executionId)) this.delete(executionId);
  }
}
