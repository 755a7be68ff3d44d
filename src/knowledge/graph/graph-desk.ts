// The graph as people handle it: how it is, what lies around an entity, and to have it rebuilt.
import type { JobQueue } from '../../core/index.ts';
import type { GraphDesk } from '../desk-ports.ts';
import type { Graph } from '../ports.ts';
import { graphRebuildJob, graphRebuildKey } from './graph-rebuild.ts';

export interface GraphView {
  /** The entity (or the one it became part of), events it takes part in, newest first, and who else does. NOT_FOUND. */
  around(spaceId: number, entityId: string, limit: number): ReturnType<GraphDesk['around']>;
}

export interface GraphDeskParts {
  readonly graph: Graph;
  readonly view: GraphView;
  readonly jobs: Pick<JobQueue, 'enqueue'>;
}

export function openGraphDesk({ graph, view, jobs }: GraphDeskParts): GraphDesk {
  return {
    requestRebuild: () => jobs.enqueue(graphRebuildJob, {}, { key: graphRebuildKey }),
    status: async () => {
      const state = await graph.availability(new AbortController().signal);
      const detail = state.state === 'unavailable' ? `${state.reason} ${state.remedy}` : null;
      return { backend: graph.backend, state: state.state, detail };
    },
    around: ({ spaceId }, entityId, limit) => view.around(spaceId, entityId, limit),
  };
}
