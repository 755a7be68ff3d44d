// Knowledge: what it keeps and says, and what it needs of others.
export * from './artifacts/types.ts';
export * from './entities/types.ts';
export * from './events/types.ts';
export * from './graph/graph.ts';
export * from './reading/types.ts';
export * from './search/types.ts';
export * from './spaces/types.ts';
export * from './vectors/types.ts';
