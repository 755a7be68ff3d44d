// Colors of the graph by theme and color scheme; the drawing library does not support CSS variables.
import type { MantineTheme } from '@mantine/core';
import type { NodeHoverDrawingFunction, NodeLabelDrawingFunction } from 'sigma/rendering';
import { toneColor } from '../../../theme.ts';
import type { EntityType } from '../labels.ts';

export interface GraphColors {
  readonly text: string;
  readonly paper: string;
  readonly edge: string;
  readonly event: string;
  /** Edges between possible duplicates. */
  readonly uncertain: string;
  ofType(type: string): string;
}

/** Color names of the theme. */
export const typeColors: Readonly<Record<EntityType, string>> = {
  person: 'blue',
  organization: 'grape',
  project: 'teal',
  object: 'cyan',
  place: 'lime',
  other: 'gray',
};

export function graphColors({ colors, white }: MantineTheme, scheme: 'light' | 'dark'): GraphColors {
  const isDark = scheme === 'dark';
  const shade = (name: string): string => colors[name]?.[isDark ? 4 : 7] ?? '#868e96';
  return {
    text: (isDark ? colors.dark[0] : colors.gray[9]) ?? '#868e96',
    paper: (isDark ? colors.dark[6] : white) ?? '#ffffff',
    edge: (isDark ? colors.dark[3] : colors.gray[4]) ?? '#868e96',
    event: (isDark ? colors.dark[2] : colors.gray[5]) ?? '#868e96',
    uncertain: shade(toneColor.warning),
    ofType: (type) => shade(typeColors[type as EntityType] ?? 'gray'),
  };
}

/** Right of the node, or left of it where it would be cut off. */
const labelStart = (context: CanvasRenderingContext2D, x: number, size: number, width: number): number =>
  x + size + width <= context.canvas.clientWidth ? x + size : x - size - width;

export const drawLabel =
  ({ text }: GraphColors): NodeLabelDrawingFunction =>
  (context, { x, y, size, label }, settings) => {
    if (typeof label !== 'string' || label === '') return;
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.fillStyle = text;
    const width = context.measureText(label).width + 6;
    context.fillText(label, labelStart(context, x, size, width) + 3, y + settings.labelSize / 3);
  };

/** Label on the page's background color; the library's own is always white. */
export const drawHover =
  ({ paper, text, edge }: GraphColors): NodeHoverDrawingFunction =>
  (context, { x, y, size, label, color }, settings) => {
    context.beginPath();
    context.arc(x, y, size + 3, 0, Math.PI * 2);
    context.fillStyle = paper;
    context.fill();
    context.beginPath();
    context.arc(x, y, size + 1, 0, Math.PI * 2);
    context.fillStyle = color;
    context.fill();
    if (typeof label !== 'string' || label === '') return;
    context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
    const width = context.measureText(label).width + 12;
    const start = labelStart(context, x, size + 4, width);
    context.fillStyle = paper;
    context.strokeStyle = edge;
    context.beginPath();
    context.roundRect(start, y - settings.labelSize, width, settings.labelSize * 2, 4);
    context.fill();
    context.stroke();
    context.fillStyle = text;
    context.fillText(label, start + 6, y + settings.labelSize / 3);
  };
