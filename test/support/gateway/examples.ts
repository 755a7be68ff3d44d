// Examples shared by the suites.
import type {
  Attempt,
  Cooldown,
  FailedRequest,
  Model,
  ModelDefinition,
  StoredGatewayKey,
  Usage,
} from '../../../src/gateway/types.ts';

/** Milliseconds after a fixed moment. */
export const moment = (ms: number): number => Date.parse('2026-03-01T12:00:00Z') + ms;

export const exampleModel = (name: string, change: Partial<ModelDefinition> = {}): ModelDefinition => ({
  name,
  provider: 'demo',
  baseUrl: 'https://demo.example/v1',
  apis: ['chat', 'responses'],
  keyHeader: 'authorization',
  upstreamModel: name,
  envVar: 'DEMO_API_KEY',
  headers: { 'x-title': 'ü' },
  isLocal: false,
  capabilities: {
    streaming: true,
    tools: true,
    json: false,
    vision: false,
    reasoning: false,
    embeddings: false,
    endpoints: [],
    contextTokens: null,
    maxOutputTokens: null,
  },
  quotas: { requestsPerMinute: 30 },
  price: { inputPerMillion: 0.15, outputPerMillion: 0.6 },
  timeouts: { responseSeconds: 300 },
  ...change,
});

export const exampleCooldown = (change: Partial<Cooldown> = {}): Cooldown => ({
  modelId: 1,
  keyId: 'k1',
  until: moment(60_000),
  cause: 'rate-limit',
  source: 'retry-after',
  reason: null,
  setAt: moment(0),
  ...change,
});

export const exampleAttempt = (change: Partial<Attempt> = {}): Attempt => ({
  requestId: 'r1',
  modelId: 1,
  at: moment(0),
  outcome: 'success',
  status: 200,
  durationMs: 1_000,
  firstTokenMs: null,
  promptTokens: 10,
  completionTokens: 5,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: null,
  caller: 'admin',
  api: 'chat',
  requestedModel: 'auto',
  callNumber: 1,
  waitedMs: 0,
  endsRequest: true,
  ...change,
});

export const exampleFailedRequest = (change: Partial<FailedRequest> = {}): FailedRequest => ({
  requestId: 'r1',
  at: moment(0),
  durationMs: 0,
  errorCode: 'GATEWAY_KEY_LIMIT_REACHED',
  calls: 0,
  caller: 'admin',
  api: 'chat',
  requestedModel: 'auto',
  ...change,
});

export const exampleKey = (number: number, change: Partial<StoredGatewayKey> = {}): StoredGatewayKey => ({
  id: `0195a1b2-c3d4-7e5f-8a9b-${String(number).padStart(12, '0')}`,
  name: `key ${number}`,
  prefix: 'hwk_abcdef',
  hash: `hash ${number}`,
  createdAt: new Date(moment(number)),
  expiresAt: null,
  revokedAt: null,
  requestsPerMinute: null,
  tokensPerDay: null,
  usdPerDay: null,
  ...change,
});

export const exampleUsage = (change: Partial<Usage> = {}): Usage => ({
  day: '2026-03-01',
  caller: 'key:a',
  modelId: 1,
  requests: 1,
  promptTokens: 10,
  completionTokens: 5,
  costUsd: null,
  unpricedRequests: 1,
  ...change,
});

/** The model of that name in a registry. */
export const modelNamed = (registry: { list(): readonly Model[] }, name: string): Model | undefined =>
  registry.list().find((model) => model.name === name);
