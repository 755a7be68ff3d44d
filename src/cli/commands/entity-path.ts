// How commands name an entity.
import { knowledgePath } from './knowledge-space.ts';

export const entityPath = (id: string): string => `${knowledgePath}/entities/${encodeURIComponent(id)}`;

export const exampleEntity = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
