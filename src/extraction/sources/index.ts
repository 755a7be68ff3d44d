// Sources: where content comes from.
export type { CallLimits, Leave } from './call.ts';
export { defaultCallLimits } from './call.ts';
export type { LookerSourceOptions } from './looker/create-looker-source.ts';
export { createLookerSource } from './looker/create-looker-source.ts';
export type { FolderFilter } from './looker/looker-folders.ts';
export type { RestSourceOptions } from './rest/create-rest-source.ts';
export { createRestSource } from './rest/create-rest-source.ts';
export type { LoadRestSourceOptions } from './rest/load-rest-source.ts';
export { loadRestSource } from './rest/load-rest-source.ts';
export type { RestSourceDefinition } from './rest/rest-definition.ts';
