// Routing: which model is asked, in which order, and what becomes of a request that nobody answers.
export { createRouter } from './create-gateway.ts';
export { routingPolicy } from './parts.ts';
export type { RouterDeps, RoutingOptions, RoutingPolicy } from './parts.ts';
export { FailureBackoff } from './resting.ts';
export { selectCandidates } from './select-candidates.ts';
export type { Candidate, RoutingSnapshot } from './select-candidates.ts';
