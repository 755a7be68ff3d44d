// Related entities and events: an expandable graph, and the same as a list.
import type { RelatedEntities } from '../../../../../src/api/entities.ts';
import { ActionIcon, Anchor, Box, Grid, Group, ScrollArea, Stack, Text, Tooltip } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQueries } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Empty, Failed, Loading } from '../../../components/states.tsx';
import { readOptions } from '../queries.ts';
import { useAddress, useSpaceRef } from '../space-ref.ts';
import type { EntityType } from '../labels.ts';
import { counted } from '../../../components/format.ts';
import { categoryLabels, entityTypeLabels } from '../labels.ts';
import type { GraphNode } from './neighborhood.ts';
import { degreesOf, joined } from './neighborhood.ts';

// The drawing library is large, and needed here only.
const GraphCanvas = lazy(async () => ({ default: (await import('./graph-canvas.tsx')).GraphCanvas }));

/** Maximum events loaded per entity. */
const maxEvents = 60;

export function GraphExplorer({ entityId, name }: { readonly entityId: string; readonly name: string }) {
  const [grown, setGrown] = useState<readonly string[]>([]);
  const { neighborhood, error, isReading } = useNeighborhood([entityId, ...grown]);
  const [pointed, setPointed] = useState<string | null>(null);
  const open = useOpenNode(neighborhood.nodes);
  if (neighborhood.nodes.length === 0)
    return error === null ? <Loading what="the graph" /> : <Failed what="the graph" error={error} />;
  if (neighborhood.nodes.length === 1)
    return <Empty title="No connections">No events and no similar names.</Empty>;
  const events = neighborhood.nodes.filter(({ kind }) => kind === 'event').length;
  const label = `Graph around ${name}: ${counted(neighborhood.nodes.length - events, 'entity', 'entities')} and ${counted(events, 'event')}, listed beside it.`;
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Suspense fallback={<Loading what="the graph" />}>
          <GraphCanvas
            neighborhood={neighborhood}
            center={entityId}
            pointed={pointed}
            onOpen={open}
            label={label}
          />
        </Suspense>
        <Text size="xs" c="dimmed" mt={4}>
          Large nodes are entities, small gray ones events, orange lines possible duplicates. Click a node to
          open it. Zoom with Ctrl and the mouse wheel, or with the buttons.
        </Text>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <NodeList
          neighborhood={neighborhood}
          grown={[entityId, ...grown]}
          isReading={isReading}
          onPoint={setPointed}
          onGrow={(id) => setGrown([...grown, id])}
        />
      </Grid.Col>
    </Grid>
  );
}

function useNeighborhood(ids: readonly string[]) {
  const spaceRef = useSpaceRef();
  const results = useQueries({
    queries: ids.map((id) =>
      readOptions(spaceRef, 'GET /api/v1/knowledge/entities/:id/related', {
        params: { id },
        query: { limit: maxEvents },
      }),
    ),
    combine: (all) => ({
      parts: all.flatMap(({ data }) => data ?? []),
      error: all.find((each) => each.isError)?.error ?? null,
      isReading: all.some((each) => each.isPending),
    }),
  });
  // Equal data keeps the same layout: the graph must not move when it is refetched.
  const text = JSON.stringify(results.parts);
  const neighborhood = useMemo(() => joined(JSON.parse(text) as RelatedEntities[]), [text]);
  return { neighborhood, error: results.error, isReading: results.isReading };
}

function useOpenNode(nodes: readonly GraphNode[]): (id: string) => void {
  const address = useAddress();
  const [, go] = useLocation();
  return useCallback(
    (id) => {
      const node = nodes.find((each) => each.id === id);
      if (node) go(address(pathOf(node)));
    },
    [nodes, address, go],
  );
}

const pathOf = ({ kind, id }: GraphNode): string => (kind === 'entity' ? `/entities/${id}` : `/events/${id}`);

function NodeList({
  neighborhood,
  grown,
  isReading,
  onPoint,
  onGrow,
}: {
  readonly neighborhood: ReturnType<typeof joined>;
  readonly grown: readonly string[];
  readonly isReading: boolean;
  readonly onPoint: (id: string | null) => void;
  readonly onGrow: (id: string) => void;
}) {
  const degrees = degreesOf(neighborhood);
  const nodes = neighborhood.nodes.toSorted(
    (a, b) =>
      Number(a.kind === 'event') - Number(b.kind === 'event') ||
      (degrees.get(b.id) ?? 0) - (degrees.get(a.id) ?? 0),
  );
  return (
    <ScrollArea
      h={420}
      type="auto"
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Graph as a list' }}
    >
      <Stack component="ul" gap={4} m={0} p={0} pr="sm" style={{ listStyle: 'none' }}>
        {nodes.map((node) => (
          <Box
            component="li"
            key={node.id}
            onMouseEnter={() => onPoint(node.id)}
            onMouseLeave={() => onPoint(null)}
            onFocus={() => onPoint(node.id)}
            onBlur={() => onPoint(null)}
          >
            <NodeRow
              node={node}
              canGrow={node.kind === 'entity' && !grown.includes(node.id) && !isReading}
              onGrow={onGrow}
            />
          </Box>
        ))}
      </Stack>
    </ScrollArea>
  );
}

function NodeRow({
  node,
  canGrow,
  onGrow,
}: {
  readonly node: GraphNode;
  readonly canGrow: boolean;
  readonly onGrow: (id: string) => void;
}) {
  const address = useAddress();
  const word =
    node.kind === 'entity'
      ? entityTypeLabels[node.type as EntityType]
      : categoryLabels[node.type as keyof typeof categoryLabels];
  return (
    <Group gap="xs" wrap="nowrap" justify="space-between" align="flex-start">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        <Anchor component={Link} href={address(pathOf(node))} inherit fw={node.kind === 'entity' ? 600 : 400}>
          {node.label}
        </Anchor>
        <Text span size="xs" c="dimmed">
          {' '}
          {word ?? node.type}
        </Text>
      </Text>
      {node.kind === 'entity' ? (
        <Tooltip label="Expand">
          <ActionIcon
            size="sm"
            variant="subtle"
            disabled={!canGrow}
            aria-label={`Expand ${node.label}`}
            onClick={() => onGrow(node.id)}
          >
            <IconPlus size={14} />
          </ActionIcon>
        </Tooltip>
      ) : null}
    </Group>
  );
}
