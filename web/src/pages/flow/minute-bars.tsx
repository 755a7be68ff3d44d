// The last 30 minutes as bars, with failures in red. Decorative: the figure beside it has the number.
import classes from './flow-diagram.module.css';

const shown = 30;
const [width, height] = [120, 18];

export interface MinuteBarsProps {
  /** One value per minute, oldest first. */
  readonly all: readonly number[];
  /** Failures among them, one value per minute. */
  readonly bad?: readonly number[];
}

export function MinuteBars({ all, bad = [] }: MinuteBarsProps) {
  const bars = all.slice(-shown);
  const wrong = bad.slice(-shown);
  const max = Math.max(1, ...bars);
  const step = width / shown;
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      className={classes['bars']}
      aria-hidden
    >
      <path className={classes['ground']} d={`M0 ${height - 0.5}h${width}`} />
      {bars.map((count, index) => {
        const x = width - (bars.length - index) * step;
        const barHeight = (count / max) * (height - 2);
        const failedHeight = ((wrong[index] ?? 0) / max) * (height - 2);
        return count === 0 ? null : (
          <g key={x}>
            <rect x={x} y={height - 1 - barHeight} width={step * 0.75} height={barHeight} />
            <rect
              className={classes['wrong']}
              x={x}
              y={height - 1 - failedHeight}
              width={step * 0.75}
              height={failedHeight}
            />
          </g>
        );
      })}
    </svg>
  );
}
