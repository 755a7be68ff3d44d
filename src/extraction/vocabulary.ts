// Schemas that clients of the API need without the rest of the domain.
export { sourceChange, sourceInput } from './runs/source-schema.ts';
