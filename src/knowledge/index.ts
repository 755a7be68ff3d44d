// Knowledge: documents in, evidence out: events, entities, graph and search, each going on when another is away.
export type * from './desk-ports.ts';
export * from './errors.ts';
export * from './ports.ts';
