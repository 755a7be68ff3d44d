// The graph as people handle it: how it is, what lies around an entity, and to have it rebuilt.
import type { JobQueue } from '../../core/index.ts';
import { CoreError } from '../../core/index.ts';
import type { GraphDesk } from '../desk-ports.ts';
import { KnowledgeError } from '../errors.ts';
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
    requestRebuild: async () => {
      refuseOff(graph);
      const state = await graph.availability(new AbortController().signal);
      if (state.state === 'unavailable')
        throw new KnowledgeError('KNOWLEDGE_GRAPH_UNAVAILABLE', `${state.reason} ${state.remedy}`);
      return jobs.enqueue(graphRebuildJob, {}, { key: graphRebuildKey });
    },
    status: async () => {
      const state = await graph.availability(new AbortController().signal);
      const detail = state.state === 'unavailable' ? `${state.reason} ${state.remedy}` : null;
      return { backend: graph.backend, state: state.state, detail };
    },
    around: async ({ spaceId }, entityId, limit) => {
      refuseOff(graph);
      return view.around(spaceId, entityId, limit);
    },
  };
}

function refuseOff({ backend }: Graph): void {
  if (backend === 'off')
    throw new CoreError(
      'CONFLICT',
      'The graph is switched off (GRAPH_BACKEND=off). Set GRAPH_BACKEND to sql or age, start the server again, and repeat this.',
    );
}
