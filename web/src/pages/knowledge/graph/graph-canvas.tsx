// The graph, drawn with WebGL. Clicking a node opens it; the list beside it has the same content.
import { ActionIcon, Box, Group, Text, useComputedColorScheme, useMantineTheme } from '@mantine/core';
import { IconFocusCentered, IconMinus, IconPlus } from '@tabler/icons-react';
import Graphology from 'graphology';
import { useEffect, useRef, useState } from 'react';
import { Sigma } from 'sigma';
import { drawHover, drawLabel, graphColors } from './graph-colors.ts';
import type { Position } from './graph-layout.ts';
import { layOut } from './graph-layout.ts';
import type { Neighborhood } from './neighborhood.ts';
import { degreesOf } from './neighborhood.ts';

export interface GraphCanvasProps {
  readonly neighborhood: Neighborhood;
  readonly center: string;
  /** Node highlighted from the list. */
  readonly pointed: string | null;
  readonly onOpen: (id: string) => void;
  readonly label: string;
}

const height = 420;

export function GraphCanvas({ neighborhood, center, pointed, onOpen, label }: GraphCanvasProps) {
  const box = useRef<HTMLDivElement>(null);
  const drawing = useRef<Sigma | null>(null);
  const places = useRef<ReadonlyMap<string, Position>>(new Map());
  const shown = useRef({ pointed, onOpen });
  const [problem, setProblem] = useState<string | null>(null);
  const theme = useMantineTheme();
  const scheme = useComputedColorScheme('light');

  useEffect(() => {
    shown.current = { pointed, onOpen };
    drawing.current?.refresh({ skipIndexation: true });
  }, [pointed, onOpen]);

  useEffect(() => {
    const container = box.current;
    if (!container) return undefined;
    places.current = layOut(neighborhood, places.current);
    const colors = graphColors(theme, scheme);
    try {
      const sigma = new Sigma(graphOf(neighborhood, places.current, center, colors), container, {
        allowInvalidContainer: true,
        labelFont: theme.fontFamily ?? 'sans-serif',
        labelSize: 12,
        labelRenderedSizeThreshold: 6,
        defaultDrawNodeLabel: drawLabel(colors),
        defaultDrawNodeHover: drawHover(colors),
        nodeReducer: (id, data) =>
          id === shown.current.pointed ? { ...data, highlighted: true, zIndex: 2 } : data,
        zIndex: true,
      });
      sigma.on('clickNode', ({ node }) => shown.current.onOpen(node));
      sigma.on('enterNode', () => container.style.setProperty('cursor', 'pointer'));
      sigma.on('leaveNode', () => container.style.removeProperty('cursor'));
      drawing.current = sigma;
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    const letPageScroll = (event: WheelEvent): void => {
      if (!event.ctrlKey) event.stopPropagation();
    };
    container.addEventListener('wheel', letPageScroll, { capture: true });
    return () => {
      container.removeEventListener('wheel', letPageScroll, { capture: true });
      drawing.current?.kill();
      drawing.current = null;
    };
  }, [neighborhood, center, theme, scheme]);

  return (
    <Box pos="relative">
      <figure role="img" aria-label={label} style={{ margin: 0 }}>
        <Box
          ref={box}
          h={height}
          aria-hidden
          style={{
            border: '1px solid var(--mantine-color-default-border)',
            borderRadius: 8,
            overflow: 'hidden',
          }}
        />
      </figure>
      {problem === null ? (
        <Zoom drawing={() => drawing.current} />
      ) : (
        <Text size="sm" c="dimmed" pos="absolute" top={16} left={16} right={16}>
          This browser cannot draw the graph ({problem}). The list has the same content.
        </Text>
      )}
    </Box>
  );
}

function Zoom({ drawing }: { readonly drawing: () => Sigma | null }) {
  const camera = () => drawing()?.getCamera();
  return (
    <Group gap={4} pos="absolute" right={8} bottom={8}>
      <ActionIcon variant="default" aria-label="Zoom in" onClick={() => void camera()?.animatedZoom()}>
        <IconPlus size={16} />
      </ActionIcon>
      <ActionIcon variant="default" aria-label="Zoom out" onClick={() => void camera()?.animatedUnzoom()}>
        <IconMinus size={16} />
      </ActionIcon>
      <ActionIcon variant="default" aria-label="Reset zoom" onClick={() => void camera()?.animatedReset()}>
        <IconFocusCentered size={16} />
      </ActionIcon>
    </Group>
  );
}

const longestLabel = 40;
const shortened = (text: string): string =>
  text.length <= longestLabel ? text : `${text.slice(0, longestLabel - 1)}…`;

function graphOf(
  neighborhood: Neighborhood,
  places: ReadonlyMap<string, Position>,
  center: string,
  colors: ReturnType<typeof graphColors>,
): Graphology {
  const degrees = degreesOf(neighborhood);
  const graph = new Graphology({ multi: true });
  for (const { id, kind, label, type } of neighborhood.nodes)
    graph.addNode(id, {
      ...(places.get(id) ?? { x: 0, y: 0 }),
      label: shortened(label),
      color: kind === 'event' ? colors.event : colors.ofType(type),
      size:
        kind === 'event' ? 4 : Math.min(14, 7 + Math.sqrt(degrees.get(id) ?? 0)) + (id === center ? 3 : 0),
      forceLabel: id === center,
    });
  for (const { from, to, kind } of neighborhood.edges)
    graph.addEdge(from, to, {
      color: kind === 'POSSIBLY_SAME' ? colors.uncertain : colors.edge,
      size: kind === 'POSSIBLY_SAME' ? 2 : 1,
    });
  return graph;
}
