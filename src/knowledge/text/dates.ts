// Dates as people write them, relative to the date of the document.

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const dayMs = 86_400_000;

const month =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?';
const year = '(?:,?\\s{1,2}(\\d{4}))?';

type Reader = (found: RegExpExecArray, base: Date | null) => Date | null;

/** The first match wins. */
const forms: readonly (readonly [RegExp, Reader])[] = [
  [/\b(\d{4})-(\d{2})-(\d{2})(?!\d)/, ([, y, m, d]) => dateOf(Number(y), Number(m) - 1, Number(d))],
  [/\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b/, ([, d, m, y]) => dateOf(Number(y), Number(m) - 1, Number(d))],
  [
    new RegExp(`\\b${month}\\s{1,2}(\\d{1,2})(?:st|nd|rd|th)?\\b${year}`, 'i'),
    ([, m = '', d, y], base) => nearest(monthOf(m), Number(d), y, base),
  ],
  [
    new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th)?(?:\\s{1,2}of)?\\s{1,2}${month}(?![a-z])${year}`, 'i'),
    ([, d, m = '', y], base) => nearest(monthOf(m), Number(d), y, base),
  ],
  [
    new RegExp(`\\bend\\s{1,2}of\\s{1,2}${month}(?![a-z])${year}`, 'i'),
    ([, m = '', y], base) => nearest(monthOf(m) + 1, 0, y, base),
  ],
  [
    /\bQ([1-4])(?:\s{1,2}(\d{4}))?\b/i,
    ([, q, y], base) =>
      lastDayOf(Number(q) * 3, y === undefined ? (base?.getUTCFullYear() ?? null) : Number(y)),
  ],
  [
    /\b(today|tonight|eod|end of (?:the )?day|this (?:morning|afternoon|evening))\b/i,
    (_, base) => daysFrom(base, 0),
  ],
  [/\btomorrow\b/i, (_, base) => daysFrom(base, 1)],
  [/\byesterday\b/i, (_, base) => daysFrom(base, -1)],
  [
    /\bin\s{1,2}(\d{1,3}|a|one|two|three|four|six)\s{1,2}(day|week|month)s?\b/i,
    ([, count = '', unit = ''], base) =>
      daysFrom(base, numberOf(count) * (unitDays[unit.toLowerCase()] ?? 1)),
  ],
  [/\bend of (?:the )?week\b|\beow\b/i, (_, base) => weekday(base, 5, 0)],
  [
    new RegExp(`\\b(last|next|past|this|on|by|until|before)\\s{1,2}(${days.join('|')})\\b`, 'i'),
    ([, how = '', day = ''], base) =>
      weekday(base, days.indexOf(day.toLowerCase()), dayShifts[how.toLowerCase()] ?? 0),
  ],
];

const unitDays: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30 };
const dayShifts: Readonly<Record<string, number>> = { last: -7, past: -7, next: 0, this: 0 };
const spelled: Readonly<Record<string, number>> = { a: 1, one: 1, two: 2, three: 3, four: 4, six: 6 };
const numberOf = (count: string): number => spelled[count.toLowerCase()] ?? Number(count);
const monthOf = (name: string): number => months.indexOf(name.slice(0, 3).toLowerCase());

/** Without any of these there is no date: saves most sentences a dozen searches. */
const hint =
  /\d|\b(?:today|tonight|eod|eow|end of|tomorrow|yesterday|this|in|last|next|past|on|by|until|before) ?(?:[a-z]|$)/i;

/**
 * The first date of a sentence, at midnight UTC; missing parts are chosen nearest to `base`, the document's
 * date. Null without a date, or when it is relative and there is no base.
 */
export function findDate(sentence: string, base: Date | null): Date | null {
  if (!hint.test(sentence)) return null;
  for (const [form, read] of forms) {
    const found = form.exec(sentence);
    const date = found && read(found, base);
    if (date) return date;
  }
  return null;
}

/** Null for an impossible date. */
function dateOf(year: number, monthIndex: number, day: number): Date | null {
  const date = new Date(Date.UTC(year, monthIndex, day));
  const isReal = date.getUTCMonth() === (monthIndex + 12) % 12 && year >= 1900 && year < 2200;
  return isReal ? date : null;
}

const lastDayOf = (months: number, year: number | null): Date | null =>
  year === null || year < 1900 || year >= 2200 ? null : new Date(Date.UTC(year, months, 0));

/** A date without a year: the one nearest to the document's date. `day` 0 is the last day of the previous month. */
function nearest(monthIndex: number, day: number, year: string | undefined, base: Date | null): Date | null {
  const inYear = (one: number): Date | null =>
    day === 0 ? lastDayOf(monthIndex, one) : dateOf(one, monthIndex, day);
  if (year !== undefined) return inYear(Number(year));
  if (!base) return null;
  const candidates = [-1, 0, 1].flatMap((step) => inYear(base.getUTCFullYear() + step) ?? []);
  const distance = (date: Date): number => Math.abs(date.getTime() - base.getTime());
  return candidates.sort((a, b) => distance(a) - distance(b))[0] ?? null;
}

function daysFrom(base: Date | null, count: number): Date | null {
  if (!base) return null;
  const midnight = Date.UTC(base.getUTCFullYear(), base.getUTCMonth(), base.getUTCDate());
  const date = new Date(midnight + count * dayMs);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** The next such weekday, including today; a `shift` of -7 is the previous one. */
function weekday(base: Date | null, day: number, shift: number): Date | null {
  if (!base) return null;
  const ahead = (day - base.getUTCDay() + 7) % 7;
  return daysFrom(base, shift < 0 && ahead === 0 ? -7 : ahead + shift);
}
