// Scenarios of simulated AI providers, and the simulator's interface.
import type { Clock } from '../../core/index.ts';

/** How an error response gives its retry hint, each as a real provider does. */
export const hintStyles = [
  'none',
  'retry-after',
  'retry-after-decimal',
  'retry-after-date',
  'retry-after-ms',
  'x-ms-retry-after-ms',
  'openai-reset',
  'groq-reset',
  'groq-prose',
  'cerebras-reset',
  'sambanova-reset',
  'mistral-reset',
  'openrouter-body',
  'gemini-body',
  'gemini-array',
  'github-prose',
  'cloudflare-day',
] as const;

export type HintStyle = (typeof hintStyles)[number];

/**
 * Three digits respond with that status. `limit-500` is a 500 whose message says rate limit. `hang` never responds,
 * `reset` resets the connection, `slow` waits `ms` before the first byte, `cut` ends a stream or body in the middle,
 * `cut-early` before any content, `malformed` sends invalid JSON, `empty` a response without content, `refused` one
 * emptied by the content filter, `error-event` a stream that starts with an error, `silent` a stream that stalls.
 */
export const faultNames = [
  '400',
  '401',
  '402',
  '403',
  '404',
  '422',
  '429',
  '500',
  '502',
  '503',
  '504',
  'limit-500',
  'context',
  'hang',
  'reset',
  'slow',
  'cut',
  'cut-early',
  'malformed',
  'empty',
  'refused',
  'error-event',
  'silent',
] as const;

export type FaultName = (typeof faultNames)[number];

export interface Fault {
  readonly fault: FaultName;
  /** Of 429, limit-500 and 503. */
  readonly hint?: HintStyle | undefined;
  /** Of the hint. */
  readonly seconds?: number | undefined;
  /** Of slow. */
  readonly ms?: number | undefined;
}

/** One step of a script: `ok`, or a fault for `times` calls. */
export type Step = 'ok' | (Fault & { readonly times?: number | undefined });

/** A name that a simulated model recognizes in documents. */
export interface KnownName {
  /** The full name. */
  readonly name: string;
  /** Other spellings of it. */
  readonly also: readonly string[];
  readonly type: 'person' | 'org' | 'project' | 'object' | 'place' | 'other';
  readonly role?: string | undefined;
  readonly organization?: string | undefined;
  readonly email?: string | undefined;
}

export interface SimulatedModel {
  readonly name: string;
  readonly kind: 'chat' | 'embeddings';
  /** The content of its completions; default: it repeats the prompt. */
  readonly answer?: string | undefined;
  /** The names it extracts from documents for knowledge. Null: it does not read documents. */
  readonly knows: readonly KnownName[] | null;
  readonly dimensions: number;
  readonly firstTokenMs: number;
  readonly tokenMs: number;
  /** Applies to the first calls, in order. */
  readonly script: readonly Step[];
  /** Applies randomly to all others; the first that occurs. */
  readonly faults: readonly (Fault & { readonly probability: number })[];
  readonly quotas: {
    readonly requestsPerMinute?: number | undefined;
    readonly requestsPerDay?: number | undefined;
    readonly tokensPerMinute?: number | undefined;
    readonly tokensPerDay?: number | undefined;
  };
  /** Send rate-limit headers. */
  readonly quotaHeaders: boolean;
}

export interface SimulatedProvider {
  /** Its base URL is `URL/NAME/v1`. */
  readonly name: string;
  /** Accepted keys; empty: all. */
  readonly keys: readonly string[];
  readonly latencyMs: number;
  readonly models: readonly SimulatedModel[];
}

export interface Scenario {
  readonly seed: number;
  readonly providers: readonly SimulatedProvider[];
}

export interface ModelsSimulatorOptions {
  readonly scenario: Scenario;
  readonly port?: number;
  readonly clock?: Clock;
}

/** By model; by `provider/model` if two providers have a model of that name. */
export interface ModelsSimulatorStats {
  readonly models: Readonly<
    Record<string, { readonly calls: number; readonly answered: Readonly<Record<string, number>> }>
  >;
}

export interface ModelsSimulator {
  readonly url: string;
  /** `URL/NAME/v1` of a provider. */
  baseUrl(provider: string): string;
  stats(): ModelsSimulatorStats;
  /** Responses in progress. */
  open(): number;
  /** Responses whose caller disconnected before the end. */
  aborted(): number;
  reset(): void;
  /** Sets the script of a model, named as in the stats. */
  script(model: string, steps: readonly Step[]): void;
  stop(): Promise<void>;
}
