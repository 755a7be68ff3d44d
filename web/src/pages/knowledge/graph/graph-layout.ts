// Layout of the graph.
import Graphology from 'graphology';
import forceAtlas2 from 'graphology-layout-forceatlas2';
import type { GraphEdge, Neighborhood } from './neighborhood.ts';

export interface Position {
  readonly x: number;
  readonly y: number;
}

/** Iterations of the layout; a hundred nodes take 30 ms. */
const layoutSteps = 200;

/** Deterministic positions. Known nodes start at their previous position, new ones beside a neighbor. */
export function layOut(
  { nodes, edges }: Neighborhood,
  before: ReadonlyMap<string, Position>,
): ReadonlyMap<string, Position> {
  const graph = new Graphology({ type: 'undirected' });
  nodes.forEach(({ id }, index) =>
    graph.addNode(id, before.get(id) ?? around(neighborOf(id, edges, before), index)),
  );
  for (const { from, to } of edges) if (!graph.hasEdge(from, to)) graph.addEdge(from, to);
  if (graph.order > 1)
    forceAtlas2.assign(graph, {
      iterations: layoutSteps,
      settings: { ...forceAtlas2.inferSettings(graph), gravity: 0.5, adjustSizes: false },
    });
  return new Map(graph.mapNodes((id, { x, y }) => [id, { x: Number(x), y: Number(y) }]));
}

function neighborOf(
  id: string,
  edges: readonly GraphEdge[],
  places: ReadonlyMap<string, Position>,
): Position {
  for (const { from, to } of edges) {
    const place = from === id ? places.get(to) : to === id ? places.get(from) : undefined;
    if (place) return place;
  }
  return { x: 0, y: 0 };
}

/** On a spiral with the golden angle: distinct positions without randomness. */
const around = ({ x, y }: Position, index: number): Position => ({
  x: x + Math.sqrt(index) * Math.cos(index * 2.4),
  y: y + Math.sqrt(index) * Math.sin(index * 2.4),
});
