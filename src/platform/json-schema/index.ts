// JSON schemas that cannot be trusted.
export { SchemaChecks, SchemaCheckStopped } from './schema-checks.ts';
export type { SchemaChecksOptions } from './schema-checks.ts';
