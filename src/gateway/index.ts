// Gateway: one endpoint that answers with whichever AI model is up, within the limits of all of them.
export type * from './desk-ports.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './failure-classes.ts';
export * from './ports.ts';
