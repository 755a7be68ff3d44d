// Times under a chart: as exact as their distance asks for, none twice. Times in sentences of the server, as people read them.

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

/** `cooling until 2026-03-01T12:00:00.000Z` as `cooling until 1 Mar, 12:00:00`, by the clock of who reads it. */
export const withLocalTimes = (text: string): string =>
  text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) =>
    new Date(time).toLocaleString('en-GB', {
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    }),
  );
