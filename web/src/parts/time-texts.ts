// Times under a chart: as exact as their distance asks for, none twice.

const hour = 3_600;

/** Of marks in seconds since the epoch, ascending. */
export function timeTexts(marks: readonly number[]): readonly string[] {
  const [first = 0, second = first] = marks;
  const step = second - first;
  const span = (marks.at(-1) ?? first) - first;
  const options: Intl.DateTimeFormatOptions =
    step >= 24 * hour
      ? { day: 'numeric', month: 'short' }
      : {
          ...(span >= 24 * hour ? { weekday: 'short' as const } : {}),
          hour: '2-digit',
          minute: '2-digit',
          ...(step < 60 ? { second: '2-digit' as const } : {}),
          hourCycle: 'h23',
        };
  return marks.map((mark) => new Date(mark * 1_000).toLocaleString('en-GB', options));
}
