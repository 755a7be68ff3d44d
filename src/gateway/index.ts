// Gateway: one OpenAI-compatible endpoint over many AI models, with fallback, cooldowns, quotas and scores.
export { completionText } from './client.ts';
export type { GatewayClient } from './client.ts';
export * from './errors.ts';
export * from './events.ts';
export { modelFailingKind } from './models/health-check.ts';
export { keyRejectedKind } from './models/health-check.ts';
export { modelProblems } from './models/model-definition.ts';
export type { ModelView } from './models/model-view.ts';
export type { RequestHeaders, RequestKind } from './dialects/parse-request.ts';
export { openGateway } from './open-gateway.ts';
export type { Gateway } from './open-gateway.ts';
export { gatewayKeyPrefix, usageTotals } from './state/gateway-keys.ts';
export type * from './stores.ts';
export * from './types.ts';
