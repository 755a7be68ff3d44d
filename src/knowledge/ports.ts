// Knowledge: what it keeps and says, and what it needs of others.
export * from './ports/artifacts.ts';
export * from './ports/entities.ts';
export * from './ports/graph.ts';
export * from './ports/reading.ts';
export * from './ports/search.ts';
export * from './ports/spaces.ts';
export * from './ports/vectors.ts';
