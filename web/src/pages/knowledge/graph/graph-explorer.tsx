// What lies around an entity: a picture that grows, and beside it the same as a list.
import { ActionIcon, Anchor, Box, Grid, Group, ScrollArea, Stack, Text, Tooltip } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQueries } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { GraphAroundAnswer } from '../../../../../src/http/contract.ts';
import { Empty, Failed, Loading } from '../../../parts/states.tsx';
import { readOptions } from '../ask.ts';
import { useAddress, usePlace } from '../place.ts';
import type { EntityType } from '../words.ts';
import { categoryWords, counted, entityTypeWords } from '../words.ts';
import type { GraphNode } from './surroundings.ts';
import { degreesOf, joined } from './surroundings.ts';

// The drawing library is large, and needed here only.
const GraphCanvas = lazy(async () => ({ default: (await import('./graph-canvas.tsx')).GraphCanvas }));

/** Events around one entity. */
const mostEvents = 60;

export function GraphExplorer({ entityId, name }: { readonly entityId: string; readonly name: string }) {
  const [grown, setGrown] = useState<readonly string[]>([]);
  const { surroundings, error, isReading } = useSurroundings([entityId, ...grown]);
  const [pointed, setPointed] = useState<string | null>(null);
  const open = useOpenNode(surroundings.nodes);
  if (surroundings.nodes.length === 0)
    return error === null ? <Loading what="the graph" /> : <Failed what="the graph" error={error} />;
  if (surroundings.nodes.length === 1)
    return (
      <Empty title="Nothing lies around it">It takes part in no event, and nobody comes near its name.</Empty>
    );
  const events = surroundings.nodes.filter(({ kind }) => kind === 'event').length;
  const label = `Graph around ${name}: ${counted(surroundings.nodes.length - events, 'entity', 'entities')} and ${counted(events, 'event')}, listed beside it.`;
  return (
    <Grid gap="md">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Suspense fallback={<Loading what="the picture" />}>
          <GraphCanvas
            surroundings={surroundings}
            centre={entityId}
            pointed={pointed}
            onOpen={open}
            label={label}
          />
        </Suspense>
        <Text size="xs" c="dimmed" mt={4}>
          Large: who and what; small and grey: events; orange lines: possibly the same. Click one to open it;
          Ctrl and the wheel, or the buttons, bring it nearer.
        </Text>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <NodeList
          surroundings={surroundings}
          grown={[entityId, ...grown]}
          isReading={isReading}
          onPoint={setPointed}
          onGrow={(id) => setGrown([...grown, id])}
        />
      </Grid.Col>
    </Grid>
  );
}

function useSurroundings(ids: readonly string[]) {
  const place = usePlace();
  const results = useQueries({
    queries: ids.map((id) =>
      readOptions<GraphAroundAnswer>(place, `/entities/${id}/around`, { limit: mostEvents }),
    ),
    combine: (all) => ({
      parts: all.flatMap(({ data }) => data ?? []),
      error: all.find((each) => each.isError)?.error ?? null,
      isReading: all.some((each) => each.isPending),
    }),
  });
  // The same parts are the same picture: it must not move because it was read again.
  const text = JSON.stringify(results.parts);
  const surroundings = useMemo(() => joined(JSON.parse(text) as GraphAroundAnswer[]), [text]);
  return { surroundings, error: results.error, isReading: results.isReading };
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
  surroundings,
  grown,
  isReading,
  onPoint,
  onGrow,
}: {
  readonly surroundings: ReturnType<typeof joined>;
  readonly grown: readonly string[];
  readonly isReading: boolean;
  readonly onPoint: (id: string | null) => void;
  readonly onGrow: (id: string) => void;
}) {
  const degrees = degreesOf(surroundings);
  const nodes = surroundings.nodes.toSorted(
    (a, b) =>
      Number(a.kind === 'event') - Number(b.kind === 'event') ||
      (degrees.get(b.id) ?? 0) - (degrees.get(a.id) ?? 0),
  );
  return (
    <ScrollArea
      h={420}
      type="auto"
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'The graph as a list' }}
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
      ? entityTypeWords[node.type as EntityType]
      : categoryWords[node.type as keyof typeof categoryWords];
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
        <Tooltip label="Show what lies around it too">
          <ActionIcon
            size="sm"
            variant="subtle"
            disabled={!canGrow}
            aria-label={`Show what lies around ${node.label} too`}
            onClick={() => onGrow(node.id)}
          >
            <IconPlus size={14} />
          </ActionIcon>
        </Tooltip>
      ) : null}
    </Group>
  );
}
