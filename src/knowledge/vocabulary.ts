// Words that clients of the API need without the rest of the domain.
export { artifactStates, artifactTypes, chunkSteps } from './artifacts/types.ts';
export { graphBackends } from './graph/graph.ts';
export {
  actorRoles,
  entityTypes,
  eventCategories,
  rejectionReasons,
  truncationReasons,
} from './reading/types.ts';
export { searchDefaults } from './search/types.ts';
