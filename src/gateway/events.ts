// Events of the gateway with their log levels and metrics. They contain status, class and timing of provider responses,
// never their content.
import { event } from '../core/index.ts';
import type { GatewayErrorCode } from './errors.ts';

/** The codes with which a request can end that no model completed. */
const exhaustedCodes: readonly GatewayErrorCode[] = [
  'GATEWAY_ALL_RATE_LIMITED',
  'GATEWAY_EXHAUSTED',
  'GATEWAY_REQUEST_REJECTED',
];

const tokensUsed = {
  name: 'headworks_gateway_tokens_total',
  help: 'Tokens processed by models, by kind (prompt, completion).',
} as const;

export const gatewayEvents = {
  'gateway:rate-limit-detected': event<{
    model: string;
    provider: string;
    retryAfterSeconds: number;
    source: string;
  }>({
    level: 'warn',
    message: 'rate_limit_detected',
    counter: {
      name: 'headworks_gateway_rate_limits_total',
      help: 'Rate-limit responses of providers.',
      labels: ['model'],
    },
  }),
  'gateway:availability-updated': event<{
    model: string;
    /** ISO time; null when cooldowns were cleared. */
    availableAt: string | null;
    cause: string;
    source: string;
  }>({ level: 'info', message: 'availability_updated' }),
  'gateway:model-state-changed': event<{ model: string; state: 'failing' | 'available' }>({
    level: 'warn',
    message: 'a model has begun to fail, or works again',
  }),
  'gateway:attempt-finished': event<{
    requestId: string;
    model: string;
    outcome: string;
    status: number | null;
    durationMs: number;
    promptTokens: number;
    completionTokens: number;
    /** Null: unknown. */
    costUsd: number | null;
    /** The model was replaced or removed during the call. */
    isStale: boolean;
  }>({
    level: 'debug',
    message: 'model call finished',
    counter: [
      {
        name: 'headworks_gateway_attempts_total',
        help: 'Calls to models, by outcome.',
        labels: ['model', 'outcome'],
      },
      { ...tokensUsed, labels: ['model'], fixedLabels: { kind: 'prompt' }, by: 'promptTokens' },
      { ...tokensUsed, labels: ['model'], fixedLabels: { kind: 'completion' }, by: 'completionTokens' },
      {
        name: 'headworks_gateway_cost_usd_total',
        help: 'Cost of calls to models that have a price, in US dollars.',
        labels: ['model'],
        by: 'costUsd',
      },
    ],
    histogram: {
      name: 'headworks_gateway_attempt_seconds',
      help: 'Duration of calls to models.',
      field: 'durationMs',
      labels: ['model'],
    },
  }),
  'gateway:models-exhausted': event<{ requestId: string; code: string; tried: number }>({
    level: 'warn',
    message: 'no model completed the request',
    counter: {
      name: 'headworks_gateway_exhausted_total',
      help: 'Requests that no model completed, by error code.',
      labels: ['code'],
      knownValues: exhaustedCodes.map((code) => [code]),
    },
  }),
  'gateway:probes-failed': event<{ cause: string }>({
    level: 'warn',
    message: 'models could not be probed',
  }),
  'gateway:models-discovered': event<{
    provider: string;
    trigger: string;
    outcome: 'completed' | 'empty' | 'failed';
    listed: number;
    added: number;
    changed: number;
    retired: number;
    returned: number;
  }>({
    level: 'info',
    message: "a provider's list of models was read",
    counter: {
      name: 'headworks_gateway_discoveries_total',
      help: "Readings of providers' lists of models, by outcome.",
      labels: ['provider', 'outcome'],
    },
  }),
  'gateway:discovery-failed': event<{ cause: string }>({
    level: 'warn',
    message: 'lists of models could not be read, or not be stored',
  }),
  'gateway:unknown-names': event<{ setting: string; names: string }>({
    level: 'warn',
    message: 'a setting names models that do not exist (yet)',
  }),
  'gateway:store-failed': event<{ what: string; cause: string; waiting: number }>({
    level: 'warn',
    message: 'the gateway cannot reach its store and continues from memory',
    counter: {
      name: 'headworks_gateway_store_failures_total',
      help: 'Failed reads and writes of the gateway store.',
      labels: ['what'],
    },
  }),
  'gateway:attempts-dropped': event<{ count: number }>({
    level: 'warn',
    message: 'attempts were dropped before they could be stored',
    counter: {
      name: 'headworks_gateway_attempts_dropped_total',
      help: 'Attempts that were never stored.',
      by: 'count',
    },
  }),
  'gateway:contents-dropped': event<{ count: number }>({
    level: 'warn',
    message: 'bodies of requests were dropped before they could be stored',
    counter: {
      name: 'headworks_gateway_contents_dropped_total',
      help: 'Requests whose bodies were never stored.',
      by: 'count',
    },
  }),
} as const;

export type GatewayEvents = typeof gatewayEvents;
