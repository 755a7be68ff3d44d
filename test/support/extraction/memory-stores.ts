// Sources and runs in memory, for tests.
import { CoreError } from '../../../src/core/index.ts';
import type { ExtractionRun, RunFilter, RunStore, SourceStore } from '../../../src/extraction/runs/stores.ts';
import type { ExtractionSource } from '../../../src/extraction/vocabulary.ts';

export class MemorySourceStore implements SourceStore {
  readonly #sources = new Map<string, ExtractionSource>();

  async list(): Promise<readonly ExtractionSource[]> {
    return [...this.#sources.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async get(id: string): Promise<ExtractionSource | null> {
    return this.#sources.get(id) ?? null;
  }

  async add(source: ExtractionSource): Promise<void> {
    if (this.#sources.values().some(({ name }) => name === source.name))
      throw new CoreError('CONFLICT', `There is a source named ${source.name} already.`);
    this.#sources.set(source.id, source);
  }

  async update(source: ExtractionSource): Promise<boolean> {
    const known = this.#sources.get(source.id);
    if (!known) return false;
    const { id, name, createdAt } = known;
    this.#sources.set(id, { ...source, id, name, createdAt });
    return true;
  }

  async remove(id: string): Promise<boolean> {
    return this.#sources.delete(id);
  }

  async claim(seen: ExtractionSource, at: Date): Promise<boolean> {
    const known = this.#sources.get(seen.id);
    if (!known?.is_active || known.schedule !== seen.schedule) return false;
    if (known.lastScheduledAt.getTime() !== seen.lastScheduledAt.getTime()) return false;
    this.#sources.set(seen.id, { ...known, lastScheduledAt: at });
    return true;
  }
}

export class MemoryRunStore implements RunStore {
  readonly #runs = new Map<string, ExtractionRun>();

  async put(run: ExtractionRun): Promise<boolean> {
    const known = this.#runs.get(run.id);
    if (known && known.origin !== run.origin) return false;
    this.#runs.set(run.id, run);
    return true;
  }

  async get(id: string): Promise<ExtractionRun | null> {
    return this.#runs.get(id) ?? null;
  }

  async list({ source, states, limit, before }: RunFilter): Promise<readonly ExtractionRun[]> {
    return [...this.#runs.values()]
      .filter((run) => source === undefined || run.source === source)
      .filter((run) => states?.includes(run.state) ?? true)
      .filter((run) => before === undefined || run.id < before)
      .sort((a, b) => (a.id < b.id ? 1 : -1))
      .slice(0, limit);
  }

  async interruptQueued(id: string, message: string, at: Date): Promise<boolean> {
    const run = this.#runs.get(id);
    if (run?.state !== 'queued') return false;
    this.#runs.set(id, { ...run, state: 'interrupted', finishedAt: at, message });
    return true;
  }

  async interruptStale(before: Date, message: string): Promise<number> {
    const silent = [...this.#runs.values()].filter(
      ({ state, reportedAt }) => state === 'running' && reportedAt < before,
    );
    for (const run of silent)
      this.#runs.set(run.id, { ...run, state: 'interrupted', finishedAt: run.reportedAt, message });
    return silent.length;
  }

  async purge(before: Date, limit: number): Promise<number> {
    const old = [...this.#runs.values()]
      .filter(({ finishedAt }) => finishedAt !== null && finishedAt < before)
      .sort((a, b) => Number(a.finishedAt) - Number(b.finishedAt))
      .slice(0, limit);
    for (const { id } of old) this.#runs.delete(id);
    return old.length;
  }
}
