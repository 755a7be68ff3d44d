// Gateway: one endpoint that answers with whichever AI model is up, within the limits of all of them.
export type * from './desk-ports.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './failure-classes.ts';
export type { ProbeSchedule } from './health/health-worker.ts';
export { openGateway } from './open-gateway.ts';
export type { OpenGateway, GatewayDeps } from './open-gateway.ts';
export * from './ports.ts';
export { catalogue, modelProblems } from './providers/index.ts';
export { completionText } from './spoken-text.ts';
export { gatewayRetentionRules, memoryGatewayStores } from './state/index.ts';
export type { GatewayStores } from './state/index.ts';
