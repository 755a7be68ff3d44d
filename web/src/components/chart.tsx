// Line chart over time, with a text alternative for screen readers.
import { Box, Text, useComputedColorScheme, useMantineTheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import { isolatedPoints } from './isolated-points.ts';
import { timeTexts } from './time-texts.ts';

export interface Line {
  readonly label: string;
  /** One per time; null where there is no measurement. */
  readonly values: readonly (number | null)[];
  /** A color name of the theme. */
  readonly color: string;
  /** Uses the right-hand scale. */
  readonly isSecond?: boolean;
}

export interface ChartProps {
  /** One sentence for the text alternative. */
  readonly label: string;
  /** Milliseconds, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  /** Range of the time axis in milliseconds. Default: first and last time. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly height?: number;
}

/** Possible distances between two ticks, in seconds. */
const steps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400,
];

export function Chart({ label, times, lines, from, to, height = 160 }: ChartProps) {
  const { ref: box, width } = useElementSize();
  const target = useRef<HTMLDivElement>(null);
  const theme = useMantineTheme();
  const scheme = useComputedColorScheme('light');

  useEffect(() => {
    if (target.current === null || width === 0) return undefined;
    const ink = scheme === 'dark' ? theme.colors.dark[1] : theme.colors.gray[7];
    const grid = { stroke: scheme === 'dark' ? theme.colors.dark[5] : theme.colors.gray[2], width: 1 };
    const axis = { stroke: ink ?? '', grid, font: '11px system-ui' } as UPlot.Axis;
    const hasSecond = lines.some(({ isSecond }) => isSecond);
    const plot = new UPlot(
      {
        width,
        height,
        legend: { show: true, live: false },
        cursor: { drag: { x: false, y: false } },
        scales: {
          x: { time: true, range: between(from, to) },
          y: { range: fromZero(1.1) },
          // Lower, so that the peaks of both scales do not overlap.
          second: { range: fromZero(1.5) },
        },
        axes: [
          { ...axis, space: 70, incrs: steps, values: (_plot, splits) => [...timeTexts(splits)] },
          { ...axis, size: 48 },
          ...(hasSecond
            ? [{ ...axis, scale: 'second', side: 1, size: 48, grid: { show: false } } as UPlot.Axis]
            : []),
        ],
        series: [
          {},
          ...lines.map((line) => ({
            label: line.label,
            stroke: theme.colors[line.color]?.[scheme === 'dark' ? 4 : 7] ?? line.color,
            width: 2,
            points: {
              show: times.length < 20,
              size: 5,
              filter: (_plot: UPlot, _index: number, isShown: boolean) =>
                isShown ? null : isolatedPoints(line.values),
            },
            scale: line.isSecond ? 'second' : 'y',
          })),
        ],
      },
      [times.map((ms) => ms / 1_000), ...lines.map(({ values }) => [...values])] as UPlot.AlignedData,
      target.current,
    );
    return () => plot.destroy();
  }, [times, lines, from, to, width, height, scheme, theme]);

  return (
    // The page does not move when the chart is drawn.
    <Box ref={box} w="100%" mih={height}>
      <figure role="img" aria-label={`${label} ${textAlternative(lines)}`} style={{ margin: 0 }}>
        <div ref={target} aria-hidden />
      </figure>
      {times.length === 0 ? (
        <Text size="xs" c="dimmed">
          No measurements yet.
        </Text>
      ) : null}
    </Box>
  );
}

/** At least five seconds: uPlot would draw a single point on an axis of years. */
const between =
  (from: number | undefined, to: number | undefined) =>
  (_plot: UPlot, least: number, max: number): [number, number] => {
    const start = from === undefined ? least : from / 1_000;
    return [start, Math.max(to === undefined ? max : to / 1_000, start + 5)];
  };

/** `room`: top of the scale as a multiple of the highest value. */
const fromZero =
  (room: number) =>
  (_plot: UPlot, _least: number, max: number): [number, number] => [0, max > 0 ? max * room : 1];

function textAlternative(lines: readonly Line[]): string {
  return lines
    .map(({ label, values }) => {
      const last = values.findLast((value) => value !== null);
      return `${label}: ${last === undefined || last === null ? 'no data' : `last ${Math.round(last * 100) / 100}`}.`;
    })
    .join(' ');
}
