// Merges the neighborhoods of several entities into one graph.
import type { RelatedEntities } from '../../../../../src/api/entities.ts';

export type GraphNode = RelatedEntities['nodes'][number];
export type GraphEdge = RelatedEntities['edges'][number];

export interface Neighborhood {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** Deduplicates nodes and edges. */
export function joined(parts: readonly Neighborhood[]): Neighborhood {
  const nodes = new Map(parts.flatMap((part) => part.nodes.map((node) => [node.id, node])));
  const edges = new Map(
    parts.flatMap((part) =>
      part.edges.map((edge) => [`${edge.from} ${edge.to} ${edge.kind} ${edge.role}`, edge]),
    ),
  );
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

/** How many edges each node has. */
export function degreesOf({ edges }: Neighborhood): ReadonlyMap<string, number> {
  const degrees = new Map<string, number>();
  for (const { from, to } of edges) for (const id of [from, to]) degrees.set(id, (degrees.get(id) ?? 0) + 1);
  return degrees;
}
