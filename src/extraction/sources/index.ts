// Sources: where content comes from.
export type { CallLimits, PermitProvider } from './http-client.ts';
export { defaultCallLimits } from './http-client.ts';
export type { LookerSourceOptions } from './looker/create-looker-source.ts';
export { createLookerSource } from './looker/create-looker-source.ts';
export type { FolderFilter } from './looker/folders.ts';
export type { RestSourceOptions } from './http-source.ts';
export { createRestSource } from './http-source.ts';
export type { LoadRestSourceOptions } from './description/load.ts';
export { loadRestSource } from './description/load.ts';
export type { RestSourceDefinition } from './description/types.ts';
