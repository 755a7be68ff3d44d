// Constants that clients of the API need without the rest of the domain.
export { maxLimit } from './options.ts';

export const workflowNames = ['structure', 'prompt', 'search', 'ingest'] as const;
export type WorkflowName = (typeof workflowNames)[number];

/** queued → running → completed | failed | canceled. After a crash an execution runs again. */
export const executionStates = ['queued', 'running', 'completed', 'failed', 'canceled'] as const;
export type ExecutionState = (typeof executionStates)[number];
