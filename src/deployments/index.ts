// Deployments: workflows that organizations call, and what became of each call.
export type * from './desk-ports.ts';
export * from './errors.ts';
export * from './ports.ts';
