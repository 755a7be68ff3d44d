// How far back a model's history is shown while nobody has chosen.

const hourMs = 3_600_000;

/** Of its last day: the last hour, minute by minute, where everything lies in that; else the day. */
export function hoursToShow(day: Pick<ModelHistory, 'until' | 'intervals'> | undefined): '1' | '24' {
  const [first] = day?.intervals ?? [];
  if (day === undefined || first === undefined) return '24';
  return Date.parse(first.at) >= Date.parse(day.until) - hourMs ? '1' : '24';
}
import type { ModelHistory } from '../../../../src/api/models.ts';
