// Constants that clients of the API need without the rest of the domain.
export { maxLimit } from './options.ts';
export { workflowNames } from './workflows/workflow.ts';
