// Constants that clients of the API need without the rest of the domain.
export { maxLimit } from './options.ts';

export const workflowNames = ['structure', 'prompt', 'search', 'ingest'] as const;
export type WorkflowName = (typeof workflowNames)[number];
