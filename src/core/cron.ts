// Cron expressions of five fields in UTC: numbers, `*`, lists, ranges and steps. The cron-parser that pg-boss brings is
// not a dependency of ours and accepts more (names, six fields, L and #), which would reach the schedules of the store.
import { CoreError } from './errors.ts';

interface Field {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

const fields: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12 },
  { name: 'day of week', from: 0, to: 7 },
];

const dayMs = 86_400_000;
/** February 29 can be eight years away (around a century that is not a leap year). */
const searchDays = 366 * 9;

/**
 * `next` returns the first whole minute after `afterMs` that matches, in milliseconds since the epoch. Fails with
 * INPUT_INVALID, naming the field, if the expression is malformed or never matches.
 */
export function parseCron(expression: string): { next(afterMs: number): number } {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== fields.length)
    throw invalid(expression, `it has ${parts.length} fields, not five (minute hour day month weekday)`);
  const sets = fields.map((field, index) => parseField(expression, field, parts[index] ?? ''));
  const [minutes, hours, days, months, weekdays] = sets as [Values, Values, Values, Values, Values];
  const matchesDay = (day: Date): boolean => {
    if (!months.has(day.getUTCMonth() + 1)) return false;
    const byDate = days.has(day.getUTCDate());
    const byWeekday = weekdays.has(day.getUTCDay()) || (day.getUTCDay() === 0 && weekdays.has(7));
    // As in every cron: with both day fields set, either is enough.
    return days.isAny || weekdays.isAny ? byDate && byWeekday : byDate || byWeekday;
  };
  const times = [...hours.values].flatMap((hour) => [...minutes.values].map((minute) => hour * 60 + minute));
  const minutesOfDay = times.sort((a, b) => a - b);

  const find = (afterMs: number): number | undefined => {
    const firstDay = Math.floor(afterMs / dayMs) * dayMs;
    for (let day = 0; day <= searchDays; day += 1) {
      const startOfDay = firstDay + day * dayMs;
      if (!matchesDay(new Date(startOfDay))) continue;
      const minute = minutesOfDay.find((candidate) => startOfDay + candidate * 60_000 > afterMs);
      if (minute !== undefined) return startOfDay + minute * 60_000;
    }
    return undefined;
  };
  if (find(0) === undefined) throw invalid(expression, 'there is no such day');
  return {
    next: (afterMs) => {
      const found = find(afterMs);
      if (found === undefined) throw invalid(expression, 'there is no such day');
      return found;
    },
  };
}

interface Values {
  readonly values: ReadonlySet<number>;
  readonly isAny: boolean;
  has(value: number): boolean;
}

function parseField(expression: string, field: Field, text: string): Values {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(item);
    if (!match) throw invalid(expression, `"${item}" is not a ${field.name}`);
    const [, start, end, every] = match;
    const from = start === undefined ? field.from : Number(start);
    // `5/10` means from 5 on, every 10; a lone `5` means only that.
    const openEnd = start === undefined || every !== undefined ? field.to : from;
    const to = end === undefined ? openEnd : Number(end);
    const step = every === undefined ? 1 : Number(every);
    if (from < field.from || to > field.to || from > to || step < 1)
      throw invalid(expression, `"${item}" is outside ${field.from}-${field.to} for the ${field.name}`);
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return { values, isAny: text.startsWith('*'), has: (value) => values.has(value) };
}

function invalid(expression: string, why: string): CoreError {
  return new CoreError(
    'INPUT_INVALID',
    `The schedule "${expression}" cannot be used: ${why}. Use five fields in UTC, for example "15 3 * * *".`,
  );
}
