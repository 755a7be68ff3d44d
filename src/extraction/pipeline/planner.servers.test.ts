// Servers with incorrect pagination: the planner reads them anyway, or reports that it cannot.
import { describe, expect, it } from 'vitest';
import { childList, resultOf, singlePage, typeOf } from '../../../test/support/extraction/pages.ts';
import type { ContentType, PageRequest, PageResult, Pagination } from '../types.ts';
import { Planner } from './planner.ts';

const things = (pagination: Pagination): ContentType => typeOf('things', pagination);
const parents: ContentType = typeOf('parents', 'single');
const members = (pagination: Pagination): ContentType =>
  typeOf('members', pagination, { parent: { type: 'parents', keys: { id: ['id'] } } });

/** The numbers on a page, and the total if the server sends it. */
type Server = (place: { from: number; page: number; limit: number; of: string }) => {
  readonly items: readonly number[];
  readonly total?: number;
};

const upTo = (count: number, first = 0) => Array.from({ length: count }, (_, index) => first + index);

function respond(request: PageRequest, server: Server): PageResult & { items: readonly number[] } {
  if (request.position.kind === 'single') return { ...resultOf(request, 0), items: [] };
  const { items, total = null } = server(placeOf(request));
  return { ...resultOf(request, items.length, { total, elements: items }), items };
}

function placeOf({ key, list, position }: PageRequest) {
  const of = list.parents[0]?.['id'] ?? '';
  if (position.kind === 'offset') return { from: position.offset, page: 0, limit: position.limit, of };
  if (position.kind === 'page') return { from: 0, page: position.page, limit: position.limit, of };
  throw new TypeError(`${key} is not numbered`);
}

/** Eight pages in flight, settled in turn. */
function read(planner: Planner, server: Server, max = Number.POSITIVE_INFINITY) {
  const inFlight: PageRequest[] = [];
  const done: PageResult[] = [];
  const seen: number[] = [];
  while (done.length < max) {
    for (let next = planner.next(); next; next = inFlight.length < 8 ? planner.next() : null)
      inFlight.push(next);
    const request = inFlight.shift();
    if (!request) break;
    const page = respond(request, server);
    seen.push(...page.items);
    done.push(page);
    planner.committed(page);
    expect(done.length).toBeLessThan(4_000);
  }
  const finished = planner.takeFinished();
  return {
    calls: done.length,
    done,
    seen: [...new Set(seen)].sort((one, other) => one - other),
    problems: finished.flatMap(({ problems }) => problems.map(({ cause }) => cause)),
    isFinished: planner.isFinished,
  };
}

const readAll = (pagination: Pagination, server: Server) =>
  read(new Planner([things(pagination)], [], 100), server);

describe('the planner, with a server that returns fewer items than requested', () => {
  const capped =
    (count: number, cap: number): Server =>
    ({ from, page, limit }) => {
      const size = Math.min(limit, cap);
      return { items: upTo(count).slice(from + page * size, from + (page + 1) * size) };
    };

  it.each(['offset', 'page'] as const)('reads everything by %s, also without a total', (pagination) => {
    const { seen, calls } = readAll(pagination, capped(200, 30));
    expect(seen).toEqual(upTo(200));
    // Seven pages, and an empty one that proves the end.
    expect(calls).toBe(8);
  });

  it.each(['offset', 'page'] as const)('requests one more page after the only one by %s', (pagination) => {
    expect(readAll(pagination, capped(40, 1_000))).toMatchObject({ calls: 2, isFinished: true });
    expect(readAll(pagination, capped(0, 1_000))).toMatchObject({ calls: 1, isFinished: true });
  });

  it('continues where a page of another length follows the first', () => {
    const lengths = [30, 45, 45, 20];
    const server: Server = ({ from }) => {
      const at = lengths.findIndex((_, index) => from < lengths.slice(0, index + 1).reduce((a, b) => a + b));
      const end = lengths.slice(0, at + 1).reduce((sum, length) => sum + length, 0);
      return { items: at === -1 ? [] : upTo(end - from, from) };
    };
    expect(readAll('offset', server).seen).toEqual(upTo(140));
  });
});

describe('the planner, with a server that leaves items out of single pages', () => {
  const leavesOut =
    (hidden: (item: number) => boolean, count = 3_000): Server =>
    ({ from, page, limit }) => ({
      items: upTo(count)
        .slice(from + page * limit, from + (page + 1) * limit)
        .filter((item) => !hidden(item)),
      total: count,
    });

  it('requests the missing items of a page once more, and keeps its page size', () => {
    const { calls, seen } = readAll(
      'offset',
      leavesOut((item) => item >= 100 && item < 199),
    );
    // 30 pages, the rest of one of them, and an empty one that proves the end.
    expect(calls).toBe(32);
    expect(seen).toHaveLength(2_901);
  });

  it('keeps its page size when that page is the first', () => {
    const { calls, seen } = readAll(
      'offset',
      leavesOut((item) => item < 99),
    );
    expect(calls).toBeLessThan(40);
    expect(seen).toHaveLength(2_901);
    const byPage = readAll(
      'page',
      leavesOut((item) => item < 99),
    );
    expect(byPage.calls).toBe(31);
    expect(byPage.seen).toHaveLength(2_901);
  });

  it('requests whole page numbers only, and each page once', () => {
    const { done, calls } = readAll(
      'page',
      leavesOut((item) => item === 150 || item === 151, 300),
    );
    expect(calls).toBe(4);
    expect(done.map(({ request }) => request.key)).toEqual([0, 1, 2, 3].map((page) => `page:${page}*100`));
  });

  it('requests one page beyond the end when the first of two is not full', () => {
    const server: Server = ({ page }) => ({ items: [upTo(98), upTo(100, 100)][page] ?? [], total: 200 });
    expect(readAll('page', server).calls).toBe(3);
  });
});

describe('the planner, with a server that ignores which page is requested', () => {
  const repeating: Server = () => ({ items: upTo(100) });

  it.each(['offset', 'page'] as const)('ends after two pages by %s with a problem', (pagination) => {
    const { calls, problems, isFinished } = readAll(pagination, repeating);
    expect({ calls, problems, isFinished }).toEqual({ calls: 2, problems: ['repeated'], isFinished: true });
  });

  it('reports the problem again when resumed, and requests nothing', () => {
    const { done } = readAll('offset', repeating);
    const progress = [{ type: 'things', state: 'incomplete', itemsSeen: 100, done, failed: [] }] as const;
    const again = read(new Planner([things('offset')], progress, 100), repeating);
    expect(again).toMatchObject({ calls: 0, problems: ['repeated'] });
  });

  it('ends only that child list', () => {
    const planner = withChildren('offset', ['a', 'b']);
    const { problems, seen } = read(planner, ({ of, from, limit }) => ({
      items: of === 'a' ? upTo(100) : upTo(250, 1_000).slice(from, from + limit),
    }));
    expect(problems).toEqual(['repeated']);
    expect(seen).toEqual([...upTo(100), ...upTo(250, 1_000)]);
  });
});

describe('the planner, with child lists that have a total', () => {
  const servedBy =
    (items: Server): Server =>
    (place) => ({ ...items(place), total: 200 });

  it.each<[string, Pagination, Server]>([
    ['an empty page by offset', 'offset', ({ from }) => ({ items: from === 0 ? upTo(100) : [] })],
    ['an empty page by number', 'page', ({ page }) => ({ items: page === 0 ? upTo(100) : [] })],
    ['an empty first page', 'offset', () => ({ items: [] })],
    [
      'a short page',
      'offset',
      ({ from }) => ({ items: from < 160 ? upTo(160).slice(from, from + 100) : [] }),
    ],
  ])('does not take %s before the total for the end', (_, pagination, server) => {
    const { problems, isFinished, done } = read(withChildren(pagination, ['a']), servedBy(server));
    expect({ problems, isFinished }).toEqual({ problems: ['short'], isFinished: true });
    const again = read(withChildren(pagination, ['a'], done), servedBy(server));
    expect(again).toMatchObject({ calls: 0, problems: ['short'] });
  });

  it.each(['offset', 'page'] as const)(
    'does not accept a repeated page by %s as the rest of the list',
    (pagination) => {
      const { calls, problems } = read(
        withChildren(pagination, ['a']),
        servedBy(() => ({ items: upTo(100) })),
      );
      expect({ calls, problems }).toEqual({ calls: 2, problems: ['repeated'] });
    },
  );

  it('keeps the largest total of a list that shrinks while it is read', () => {
    const { problems } = read(withChildren('offset', ['a']), ({ from, limit }) => {
      const count = from === 0 ? 200 : 190;
      return { items: upTo(count).slice(from, from + limit), total: count };
    });
    expect(problems).toEqual(['short']);
  });

  it.each(['cursor', 'link', 'single'] as const)(
    'compares it where pages are named, or where there is one page (%s)',
    (pagination) => {
      const problemsAfter = (counts: readonly number[]) => {
        const planner = withChildren(pagination, ['a']);
        for (const [index, itemCount] of counts.entries()) {
          const request = planner.next();
          if (!request) throw new TypeError('nothing is requested');
          const next = index < counts.length - 1 ? `page ${index}` : null;
          planner.committed(resultOf(request, itemCount, { next, total: 150 }));
        }
        return planner.takeFinished().flatMap(({ problems }) => problems.map(({ cause }) => cause));
      };
      expect(problemsAfter(pagination === 'single' ? [100] : [100, 40])).toEqual(['short']);
      expect(problemsAfter(pagination === 'single' ? [150] : [100, 50])).toEqual([]);
    },
  );

  it('accepts complete lists, also from a server with a limit of its own', () => {
    const { problems, calls } = read(withChildren('offset', ['a', 'b']), ({ from }) => ({
      items: upTo(70).slice(from, from + 30),
      total: 70,
    }));
    expect({ problems, calls }).toEqual({ problems: [], calls: 6 });
  });
});

const parentPage = resultOf(singlePage('parents'), 5);

function withChildren(
  pagination: Pagination,
  of: readonly string[],
  done: readonly PageResult[] = [],
  size = 100,
) {
  const children = of.map((id) => childList('members', { id }));
  const progress = (type: string, pages: readonly PageResult[]) =>
    ({ type, state: 'running', itemsSeen: 0, done: pages, failed: [] }) as const;
  const before = [progress('parents', [{ ...parentPage, children }]), progress('members', done)];
  return new Planner([parents, members(pagination)], before, size);
}

describe('the planner, with child lists', () => {
  const keys = ['1', '2', '3', '4', '5'];
  const lists =
    (count: number, cap: number): Server =>
    ({ from, page, limit, of }) => {
      const size = Math.min(limit, cap);
      return { items: upTo(count, Number(of) * 1_000).slice(from + page * size, from + (page + 1) * size) };
    };
  it.each(['offset', 'page'] as const)(
    'reads them completely by %s from a server with a limit of its own',
    (pagination) => {
      const { seen } = read(withChildren(pagination, keys), lists(70, 30));
      expect(seen).toEqual(keys.flatMap((key) => upTo(70, Number(key) * 1_000)));
    },
  );

  it('confirms the end of each with one more call, unless it has a total (T1)', () => {
    const lengthOf = (of: string) => 6 - Number(of);
    const server: Server = ({ of, from }) => ({ items: from > 0 ? [] : upTo(lengthOf(of)) });
    expect(read(withChildren('offset', keys), server).calls).toBe(2 * keys.length);
    const withTotal: Server = (place) => ({ ...server(place), total: lengthOf(place.of) });
    expect(read(withChildren('offset', keys), withTotal).calls).toBe(keys.length);
  });

  it.each([1, 4, 9])('resumes each list where it stopped, whatever the batch size is now (%s)', (stop) => {
    const before = read(withChildren('page', keys, [], 50), lists(120, 1_000), stop);
    const after = read(withChildren('page', keys, before.done, 20), lists(120, 1_000));
    const limits = keys.map((key) => {
      const pages = [...before.done, ...after.done].map(({ request }) => request.key);
      return new Set(pages.filter((page) => page.startsWith(`@${key}/`)).map((page) => page.split('*')[1]))
        .size;
    });
    expect(limits).toEqual(keys.map(() => 1));
    const all = [...before.seen, ...after.seen].sort((one, other) => one - other);
    expect(all).toEqual(keys.flatMap((key) => upTo(120, Number(key) * 1_000)));
  });

  it.each([
    ['the same items', [1, 2, 3]],
    ['no items', []],
  ])('ends a list whose pages have %s and always another cursor', (_what, elements) => {
    const planner = withChildren('cursor', ['a']);
    let calls = 0;
    for (let request = planner.next(); request; request = planner.next()) {
      planner.committed(resultOf(request, elements.length, { next: `cursor ${(calls += 1)}`, elements }));
      expect(calls).toBeLessThan(50);
    }
    expect(planner.takeFinished().flatMap(({ problems }) => problems)).toMatchObject([{ cause: 'repeated' }]);
  });

  it('follows a cursor past some empty pages', () => {
    const planner = withChildren('cursor', ['a']);
    for (let page = 0; page < 40; page++) {
      const request = planner.next();
      if (!request) throw new TypeError('nothing is requested');
      const elements = page % 10 === 0 ? [page] : [];
      planner.committed(resultOf(request, elements.length, { next: page < 39 ? `${page}` : null, elements }));
    }
    expect(planner.takeFinished().flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('ends a list whose cursors form a cycle', () => {
    const planner = withChildren('cursor', ['a']);
    for (const next of ['x', 'y', 'x']) {
      const request = planner.next();
      if (!request) throw new TypeError('nothing is requested');
      planner.committed({ ...parentPage, request, next });
    }
    expect(planner.next()).toBeNull();
    expect(planner.takeFinished().flatMap(({ problems }) => problems)).toMatchObject([{ cause: 'repeated' }]);
  });
});
