// What the gateway tells the rest of the house. Of a provider's answer: status, class and timing, nothing else.
import { event } from '../core/index.ts';
import type { GatewayErrorCode } from './errors.ts';

/** What a request that nobody answered can end with. */
const exhaustedCodes: readonly GatewayErrorCode[] = [
  'GATEWAY_ALL_RATE_LIMITED',
  'GATEWAY_EXHAUSTED',
  'GATEWAY_REQUEST_REJECTED',
];

const tokensUsed = {
  name: 'headworks_gateway_tokens_total',
  help: 'Tokens read and written by models.',
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
      help: 'Refusals for a limit by providers.',
      labels: ['model'],
    },
  }),
  'gateway:availability-updated': event<{
    model: string;
    /** ISO time, or null when it was cleared. */
    availableAt: string | null;
    cause: string;
    source: string;
  }>({ level: 'info', message: 'availability_updated' }),
  'gateway:attempt-finished': event<{
    requestId: string;
    model: string;
    outcome: string;
    status: number | null;
    durationMs: number;
    promptTokens: number;
    completionTokens: number;
    /** The model was replaced or removed since it was asked. */
    isOutdated: boolean;
  }>({
    level: 'debug',
    message: 'asked a model',
    counter: [
      {
        name: 'headworks_gateway_attempts_total',
        help: 'Calls to models, by outcome.',
        labels: ['model', 'outcome'],
      },
      { ...tokensUsed, labels: ['model'], fixedLabels: { kind: 'prompt' }, by: 'promptTokens' },
      { ...tokensUsed, labels: ['model'], fixedLabels: { kind: 'completion' }, by: 'completionTokens' },
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
    message: 'no model could answer',
    counter: {
      name: 'headworks_gateway_exhausted_total',
      help: 'Requests that no model could answer.',
      labels: ['code'],
      knownValues: exhaustedCodes.map((code) => [code]),
    },
  }),
  'gateway:store-failed': event<{ what: string; cause: string; waiting: number }>({
    level: 'warn',
    message: 'the gateway goes on from memory: its store cannot be written',
    counter: {
      name: 'headworks_gateway_store_failures_total',
      help: 'Writes of the gateway that failed.',
      labels: ['what'],
    },
  }),
  'gateway:attempts-dropped': event<{ count: number }>({
    level: 'warn',
    message: 'too many attempts wait for the store; the oldest are forgotten',
    counter: {
      name: 'headworks_gateway_attempts_dropped_total',
      help: 'Attempts that reached no store.',
      by: 'count',
    },
  }),
} as const;

export type GatewayEvents = typeof gatewayEvents;
