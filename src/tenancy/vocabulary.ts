// Words and limits that clients of the API need without the rest of the domain.
export { largestLimit } from './admission/options.ts';
export { workflowNames } from './ports.ts';
