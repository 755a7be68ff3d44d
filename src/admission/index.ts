// Admission: concurrent requests to deployments, limited per organization and in all.
export type * from './desk-ports.ts';
export * from './errors.ts';
export * from './ports.ts';
