// What can be told to simulated AI providers, and what they tell.
import type { Clock } from '../../core/index.ts';

/** How a refusal says when to come back: each as somebody does it in the wild. */
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
 * Three digits answer with that status. `limit-500` is a 500 that says rate limit in words. `hang` never answers,
 * `reset` cuts the connection, `slow` waits `ms` before the first byte, `cut` ends a stream or body in the middle,
 * `cut-early` before any content, `malformed` sends what is no JSON, `empty` an answer without content, `refused` one
 * that its filter has emptied, `error-event` a stream that begins with an error, `silent` a stream that falls silent.
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
  /** What the hint says. */
  readonly seconds?: number | undefined;
  /** Of slow. */
  readonly ms?: number | undefined;
}

/** One step of a script: `ok` or a fault, so many calls long. */
export type Step = 'ok' | (Fault & { readonly times?: number | undefined });

/** Somebody or something that a simulated reader has heard of. */
export interface KnownName {
  /** The full name. */
  readonly name: string;
  /** Other spellings that it knows to mean the same. */
  readonly also: readonly string[];
  readonly type: 'person' | 'org' | 'project' | 'object' | 'place' | 'other';
  readonly role?: string | undefined;
  readonly organization?: string | undefined;
  readonly email?: string | undefined;
}

export interface SimulatedModel {
  readonly name: string;
  readonly kind: 'chat' | 'embeddings';
  /** What it says; without one it repeats the question. */
  readonly answer?: string | undefined;
  /** It reads documents when knowledge asks it to, and finds these in them. Null: it cannot read. */
  readonly knows: readonly KnownName[] | null;
  readonly dimensions: number;
  readonly firstTokenMs: number;
  readonly tokenMs: number;
  /** What happens to the first calls, in order. */
  readonly script: readonly Step[];
  /** What happens by chance to all others; the first that hits. */
  readonly faults: readonly (Fault & { readonly probability: number })[];
  readonly quotas: {
    readonly requestsPerMinute?: number | undefined;
    readonly requestsPerDay?: number | undefined;
    readonly tokensPerMinute?: number | undefined;
    readonly tokensPerDay?: number | undefined;
  };
  /** Whether answers tell what is left. */
  readonly quotaHeaders: boolean;
}

export interface SimulatedProvider {
  /** Its base URL is `URL/NAME/v1`. */
  readonly name: string;
  /** Keys it takes; without any it takes all. */
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

/** By model; by `provider/model` where two providers have one of the same name. */
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
  /** Answers that are under way now. */
  open(): number;
  /** Answers that their caller left before the end. */
  aborted(): number;
  reset(): void;
  /** What happens to the next calls of a model, named as in the stats. */
  script(model: string, steps: readonly Step[]): void;
  stop(): Promise<void>;
}
