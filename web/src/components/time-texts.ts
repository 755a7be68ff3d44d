// Labels of a chart's time axis, and local times in messages of the server.

const hour = 3_600;

/** `marks`: seconds since the epoch, ascending. The precision follows their distance. */
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
  return marks.map((mark) => new Date(mark * 1_000).toLocaleString('en-US', options));
}

/** Replaces `2026-03-01T12:00:00.000Z` by `Mar 1, 12:00:00` in the browser's time zone. */
export const withLocalTimes = (text: string): string =>
  text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) =>
    new Date(time).toLocaleString('en-US', {
      day: 'numeric',
      month: 'short',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    }),
  );
