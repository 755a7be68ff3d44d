// Routing: which model is asked, in which order, and what becomes of a request that nobody answers.
export { createGateway } from './create-gateway.ts';
export { routingPolicy } from './parts.ts';
export type { GatewayParts, RoutingOptions, RoutingPolicy } from './parts.ts';
export { Resting } from './resting.ts';
export { selectCandidates } from './select-candidates.ts';
export type { Candidate, Landscape } from './select-candidates.ts';
