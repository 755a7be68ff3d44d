// Tokens per caller, model and day (UTC): counted in memory at once, written behind, together with what others wrote.
import type { Attempt, GatewayKey, Usage, UsageStore } from '../ports.ts';
import { forPerson } from './in-time.ts';
import type { Reload } from '../../resilience/index.ts';
import type { StateDeps } from './state-parts.ts';
import { isRefusedForGood, reloadOf } from './state-parts.ts';
import { WriteBehind } from './write-loop.ts';

const dayMs = 86_400_000;
const flushIntervalMs = 500;

/** As `2026-01-31`, in UTC. */
export const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

/** What a gateway key's requests are counted under. */
export const callerOfKey = (id: string): string => `key:${id}`;

type UnwrittenUsage = { -readonly [Field in keyof Usage]: Usage[Field] };

export class UsageTracker {
  readonly #parts: StateDeps & { readonly store: UsageStore };
  readonly #loop: WriteBehind;
  readonly #reload: Reload;
  /** Lines that the store does not have yet, by day, model and caller. */
  readonly #unwritten = new Map<string, UnwrittenUsage>();
  /** Tokens of `today`, by caller: those in the store, and those that are not. */
  #stored = new Map<string, number>();
  #own = new Map<string, number>();
  #today: number;
  /** As text; a day is written once, not once a request. */
  #todayText: string;

  constructor(parts: StateDeps & { readonly store: UsageStore }) {
    this.#parts = parts;
    this.#today = dayNumber(parts.clock.now());
    this.#todayText = dayOf(parts.clock.now());
    this.#loop = new WriteBehind(parts, {
      what: 'usage',
      delayMs: flushIntervalMs,
      waiting: () => this.#unwritten.size,
      // Lines grow rather than become more.
      enough: () => Number.POSITIVE_INFINITY,
      write: () => this.#write(),
    });
    this.#reload = reloadOf(parts, 'read usage', () => this.#load());
  }

  /** Counts what an attempt cost, on the day it began. Those that neither succeeded nor cost anything are none. */
  count({ caller, modelId, at, outcome, promptTokens, completionTokens }: Attempt): void {
    const tokens = promptTokens + completionTokens;
    if (outcome !== 'success' && tokens === 0) return;
    this.#turnDay();
    const isToday = dayNumber(at) === this.#today;
    if (isToday) add(this.#own, caller, tokens);
    const day = isToday ? this.#todayText : dayOf(at);
    this.#remember({ day, caller, modelId, requests: 1, promptTokens, completionTokens });
    this.#loop.wake();
  }

  /** Tokens since midnight UTC, of all processes; what others used counts a little later. */
  usedToday(caller: string): number {
    this.#turnDay();
    return (this.#stored.get(caller) ?? 0) + (this.#own.get(caller) ?? 0);
  }

  /** Has the key used up its tokens of today? Requests under way are not counted yet. */
  overCap({ id, dailyTokenCap }: Pick<GatewayKey, 'id' | 'dailyTokenCap'>): boolean {
    return dailyTokenCap !== null && this.usedToday(callerOfKey(id)) >= dailyTokenCap;
  }

  /** Lines from the store, with all that this process counted. Fails with STATE_UNAVAILABLE. */
  list(filter: { readonly fromDay: string; readonly caller?: string }): Promise<readonly Usage[]> {
    const { clock, store } = this.#parts;
    return forPerson(
      clock,
      this.#loop.flush().then(() => store.list(filter)),
    );
  }

  start(): Promise<void> {
    return this.#reload.start();
  }

  refresh(): Promise<boolean> {
    return this.#reload.refresh();
  }

  async close(): Promise<void> {
    await this.#reload.close();
    await this.#loop.close();
  }

  #remember(line: Usage): void {
    const key = `${line.day} ${line.modelId} ${line.caller}`;
    const known = this.#unwritten.get(key);
    if (!known) {
      this.#unwritten.set(key, { ...line });
      return;
    }
    known.requests += line.requests;
    known.promptTokens += line.promptTokens;
    known.completionTokens += line.completionTokens;
  }

  async #write(): Promise<void> {
    const lines = [...this.#unwritten.values()];
    this.#unwritten.clear();
    try {
      await this.#parts.store.add(lines);
    } catch (error) {
      if (!isRefusedForGood(error)) for (const line of lines) this.#remember(line);
      throw error;
    }
    for (const { day, caller, promptTokens, completionTokens } of lines) {
      if (day !== this.#todayText) continue;
      add(this.#own, caller, -(promptTokens + completionTokens));
      add(this.#stored, caller, promptTokens + completionTokens);
    }
  }

  async #load(): Promise<void> {
    await this.#loop.withWritesPaused(async () => {
      const day = dayNumber(this.#parts.clock.now());
      const lines = await this.#parts.store.list({ fromDay: dayOf(day * dayMs) });
      this.#turnDay();
      if (day !== this.#today) return;
      this.#stored = new Map();
      for (const { day: lineDay, caller, promptTokens, completionTokens } of lines)
        if (lineDay === dayOf(day * dayMs)) add(this.#stored, caller, promptTokens + completionTokens);
    });
  }

  #turnDay(): void {
    const today = dayNumber(this.#parts.clock.now());
    if (today === this.#today) return;
    this.#today = today;
    this.#todayText = dayOf(today * dayMs);
    this.#stored = new Map();
    this.#own = new Map();
  }
}

const dayNumber = (atMs: number): number => Math.floor(atMs / dayMs);

function add(totals: Map<string, number>, caller: string, tokens: number): void {
  totals.set(caller, (totals.get(caller) ?? 0) + tokens);
}
