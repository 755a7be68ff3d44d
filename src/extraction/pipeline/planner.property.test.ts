// Property tests with simulated sources: every item is requested exactly once and none is missed.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resultOf, typeOf } from '../../../test/support/extraction/pages.ts';
import type { PageResult, PageRequest, Pagination, TypeProgress } from '../types.ts';
import { Planner } from './planner.ts';

interface World {
  readonly items: number;
  readonly pagination: Pagination;
  readonly hasTotal: boolean;
  /** The server's largest page. */
  readonly cap: number;
}

const type = (pagination: Pagination) => typeOf('things', pagination);

/** The items of a page, as numbers, and its result. */
function respond(request: PageRequest, world: World): { items: number[]; outcome: PageResult } {
  const { items: count, cap, hasTotal } = world;
  const place = placeOf(request, count, cap);
  const items = Array.from({ length: count }, (_, item) => item).slice(
    place.start,
    place.start + place.length,
  );
  const isLast = place.start + items.length >= count;
  const next = request.position.kind === 'cursor' && !isLast ? String(place.start + items.length) : null;
  const total = hasTotal ? count : null;
  return { items, outcome: resultOf(request, items.length, { total, next, elements: items }) };
}

function placeOf({ position }: PageRequest, count: number, cap: number): { start: number; length: number } {
  switch (position.kind) {
    case 'offset':
      return { start: position.offset, length: Math.min(position.limit, cap) };
    case 'page': {
      const length = Math.min(position.limit, cap);
      return { start: position.page * length, length };
    }
    case 'cursor':
      return { start: Number(position.cursor ?? 0), length: Math.min(position.limit, cap) };
    default:
      return { start: 0, length: count };
  }
}

/** Responds in the order of `pick`, at most `workers` at once, until the end or `stopAfter` responses. */
function drive(
  planner: Planner,
  world: World,
  options: {
    workers: number;
    pick: () => number;
    stopAfter?: number;
    fails?: (page: PageRequest) => boolean;
  },
) {
  const seen: number[] = [];
  const done: PageResult[] = [];
  const failed: PageRequest[] = [];
  const inFlight: PageRequest[] = [];
  const requested: PageRequest[] = [];
  while (done.length + failed.length < (options.stopAfter ?? Number.POSITIVE_INFINITY)) {
    for (let next = planner.next(); next; next = inFlight.length < options.workers ? planner.next() : null) {
      inFlight.push(next);
      requested.push(next);
    }
    const [request] = inFlight.splice(options.pick() % Math.max(inFlight.length, 1), 1);
    if (!request) break;
    if (options.fails?.(request)) {
      failed.push(request);
      planner.failed(request, true);
      continue;
    }
    const { items, outcome } = respond(request, world);
    seen.push(...items);
    done.push(outcome);
    planner.committed(outcome);
    expect(requested.length).toBeLessThan(5_000);
  }
  return { seen, done, failed, requested, isFinished: finish(planner) };
}

function finish(planner: Planner): boolean {
  planner.takeFinished();
  return planner.isFinished;
}

const everyItem = (count: number) => Array.from({ length: count }, (_, item) => item);
const progressOf = (done: readonly PageResult[], failed: readonly PageRequest[] = []): TypeProgress[] => [
  { type: 'things', state: 'running', itemsSeen: 0, done, failed },
];

const worlds = fc.record({
  items: fc.nat({ max: 400 }),
  pagination: fc.constantFrom<Pagination>('offset', 'page', 'cursor', 'single'),
  hasTotal: fc.boolean(),
  cap: fc.constant(1_000),
});
const run = { workers: fc.integer({ min: 1, max: 9 }), picks: fc.infiniteStream(fc.nat({ max: 50 })) };
const pickFrom = (picks: fc.Stream<number>) => () => picks.next().value ?? 0;

/** ceil(N/P), and one more where neither a next link nor a total with a page that is not full shows the end. */
function exactCalls({ items, pagination, hasTotal, cap }: World, limit: number): number {
  if (pagination === 'single') return 1;
  const size = Math.min(cap, limit);
  const pages = Math.max(1, Math.ceil(items / size));
  const isNumbered = pagination === 'offset' || pagination === 'page';
  // After a short page by offset, the limit is a multiple of that page's length.
  const isCapped = size < limit && (pagination === 'page' || pages === 1 || size <= limit / 2);
  const isShown = hasTotal && (items % size !== 0 || isCapped);
  return pages + (isNumbered && items > 0 && !isShown ? 1 : 0);
}

describe('the planner', () => {
  it('requests every item exactly once, in the minimum number of calls', () => {
    fc.assert(
      fc.property(
        worlds,
        fc.integer({ min: 1, max: 60 }),
        run.workers,
        run.picks,
        (world, size, workers, picks) => {
          const planner = new Planner([type(world.pagination)], [], size);
          const { seen, requested, isFinished } = drive(planner, world, { workers, pick: pickFrom(picks) });
          expect(seen.sort((a, b) => a - b)).toEqual(everyItem(world.items));
          expect(requested).toHaveLength(exactCalls(world, size));
          expect(new Set(requested.map(({ key }) => key)).size).toBe(requested.length);
          expect(isFinished).toBe(true);
        },
      ),
    );
  });

  it('resumes after any stop with another page size, and requests nothing twice', () => {
    const sizes = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 60 }));
    fc.assert(
      fc.property(
        worlds,
        sizes,
        fc.nat({ max: 12 }),
        run.workers,
        run.picks,
        (world, [first, second], stop, workers, picks) => {
          const pick = pickFrom(picks);
          const before = drive(new Planner([type(world.pagination)], [], first), world, {
            workers,
            pick,
            stopAfter: stop,
          });
          const again = new Planner([type(world.pagination)], progressOf(before.done), second);
          const after = drive(again, world, { workers, pick });
          const all = [...before.seen, ...after.seen].sort((a, b) => a - b);
          expect(all).toEqual(everyItem(world.items));
          expect(after.isFinished).toBe(true);
          if (first === second)
            expect(before.done.length + after.requested.length).toBe(exactCalls(world, first));
        },
      ),
    );
  });

  it('reads everything from a server with smaller pages than requested', () => {
    const capped = fc.record({
      items: fc.nat({ max: 300 }),
      pagination: fc.constantFrom<Pagination>('offset', 'page', 'cursor'),
      hasTotal: fc.boolean(),
      cap: fc.integer({ min: 1, max: 40 }),
    });
    fc.assert(
      fc.property(capped, run.workers, run.picks, (world, workers, picks) => {
        const planner = new Planner([type(world.pagination)], [], 50);
        const { seen, requested } = drive(planner, world, { workers, pick: pickFrom(picks) });
        expect(seen.sort((a, b) => a - b)).toEqual(everyItem(world.items));
        expect(requested).toHaveLength(exactCalls(world, 50));
      }),
    );
  });

  it('reads all but the failed pages, ends, and reads those when they are retried', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 300 }),
        fc.nat({ max: 29 }),
        run.workers,
        run.picks,
        (items, bad, workers, picks) => {
          const world: World = { items, pagination: 'offset', hasTotal: true, cap: 1_000 };
          const fails = (page: PageRequest) =>
            page.position.kind === 'offset' && page.position.offset === bad * 10;
          const pick = pickFrom(picks);
          const first = drive(new Planner([type('offset')], [], 10), world, { workers, pick, fails });
          expect(first.isFinished).toBe(true);
          if (first.failed.length > 0 && bad > 0)
            expect(first.seen.length).toBe(items - Math.min(10, items - bad * 10));
          const idle = new Planner([type('offset')], progressOf(first.done, first.failed), 10);
          if (bad > 0) expect(idle.next()).toBeNull();
          const retried = drive(new Planner([type('offset')], progressOf(first.done), 10), world, {
            workers,
            pick,
          });
          expect([...first.seen, ...retried.seen].sort((a, b) => a - b)).toEqual(everyItem(items));
        },
      ),
    );
  });
});
