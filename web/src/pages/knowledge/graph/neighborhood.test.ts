import { describe, expect, it } from 'vitest';
import { layOut } from './graph-layout.ts';
import type { Neighborhood } from './neighborhood.ts';
import { degreesOf, joined } from './neighborhood.ts';

const entity = (id: string) => ({ id, kind: 'entity' as const, label: id, type: 'person' });
const edge = (from: string, to: string) => ({ from, to, kind: 'ACTED_IN' as const, role: null });
const alice: Neighborhood = { nodes: [entity('alice'), entity('e1')], edges: [edge('alice', 'e1')] };
const bob: Neighborhood = {
  nodes: [entity('bob'), entity('e1'), entity('e2')],
  edges: [edge('alice', 'e1'), edge('bob', 'e1'), edge('bob', 'e2')],
};

describe('neighborhood', () => {
  it('merges into one graph without duplicates', () => {
    const both = joined([alice, bob]);
    expect(both.nodes.map(({ id }) => id)).toEqual(['alice', 'e1', 'bob', 'e2']);
    expect(both.edges).toHaveLength(3);
    expect(Object.fromEntries(degreesOf(both))).toEqual({ alice: 1, e1: 2, bob: 2, e2: 1 });
  });

  it('has a deterministic layout without overlaps', () => {
    const both = joined([alice, bob]);
    const places = layOut(both, new Map());
    expect([...places]).toEqual([...layOut(both, new Map())]);
    expect(new Set([...places.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(4);
    for (const { x, y } of places.values()) expect(Number.isFinite(x) && Number.isFinite(y)).toBe(true);
  });

  it('lays out edges in both directions and a single node', () => {
    const doubled = { ...alice, edges: [edge('alice', 'e1'), edge('e1', 'alice')] };
    expect(layOut(doubled, new Map()).size).toBe(2);
    expect(layOut({ nodes: [entity('alone')], edges: [] }, new Map()).size).toBe(1);
  });
});
