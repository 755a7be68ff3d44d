// How the bars of an extraction fit a terminal: what does not fit is left out whole, never cut off.
import type { TypeFigures } from '../../extraction/events.ts';
import { humanDuration } from '../human-time.ts';
import type { Pace } from './type-pace.ts';

const longestBar = 24;
const shortestBar = 5;
/** Count, rate, time left and status with the spaces between them. */
const roomForFacts = 1 + 13 + 1 + 9 + 1 + 14 + 1 + 'incomplete'.length;

export interface BarLayout {
  readonly format: string;
  readonly barsize: number;
  /** What stands in the format's gaps. */
  readonly facts: (figures: TypeFigures, pace: Pace) => Readonly<Record<string, string>>;
}

/** Where bar and facts do not fit side by side, the bar goes; where there is time left, it stands for the status. */
export function barLayout(columns: number, longestName: number): BarLayout {
  const room = columns - longestName - 1 - roomForFacts;
  const isWide = room >= shortestBar;
  return {
    format: isWide ? '{type} {bar} {count} {rate} {left} {status}' : '{type} {count} {rate} {state}',
    barsize: Math.max(Math.min(room, longestBar), 1),
    facts: ({ type, items, total, status }, { itemsPerSecond, leftMs }) => ({
      type: type.padEnd(longestName),
      count: `${items}${total === null ? '' : `/${total}`}`.padStart(isWide ? 13 : 11),
      rate: `${itemsPerSecond.toFixed(1)}/s`.padStart(9),
      left: (leftMs === null ? '' : `ETA ${humanDuration(leftMs)}`).padEnd(14),
      state: leftMs === null ? status : `~${humanDuration(leftMs)}`,
      status,
    }),
  };
}

/** Parts in as many lines as they need. */
export function wrapParts(parts: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = lines.length === 0 ? part : `${lines.at(-1)} · ${part}`;
    if (lines.length > 0 && longer.length <= columns) lines[lines.length - 1] = longer;
    else lines.push(part);
  }
  return lines;
}
