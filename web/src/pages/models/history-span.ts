// Default time range of a model's history.
import type { ModelHistory } from '../../../../src/api/models.ts';

const hourMs = 3_600_000;

/** The last hour if all of the last day's data is in it, otherwise the day. */
export function hoursToShow(day: Pick<ModelHistory, 'until' | 'intervals'> | undefined): '1' | '24' {
  const [first] = day?.intervals ?? [];
  if (day === undefined || first === undefined) return '24';
  return Date.parse(first.at) >= Date.parse(day.until) - hourMs ? '1' : '24';
}
