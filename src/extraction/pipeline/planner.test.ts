// The planner: types, lists, children and failures.
import { describe, expect, it } from 'vitest';
import {
  childList,
  offsetPage,
  pageOfList,
  resultOf,
  singlePage,
  typeOf,
} from '../../../test/support/extraction/pages.ts';
import type { PageRequest, PageResult, TypeProgress } from '../types.ts';
import { Planner } from './planner.ts';

const models = typeOf('models');
const explores = typeOf('explores', 'single', {
  shape: { items: { kind: 'single' }, id: [['name']] },
  parent: { type: 'models', itemsAt: ['explores'], keys: { e: ['name'] }, parentKeys: { m: ['name'] } },
});
const looks = typeOf('looks', 'offset', {
  endpoints: [
    { name: '', pagination: 'offset', isListingOnly: true },
    { name: 'look', pagination: 'single' },
  ],
  shape: { items: { kind: 'single' }, id: [['id']] },
  parent: { type: 'looks', keys: { id: ['id'] } },
});

const resultFor = (
  request: PageRequest | null,
  itemCount: number,
  more: Partial<PageResult> = {},
): PageResult => resultOf(request ?? singlePage('?'), itemCount, more);
const children = (type: string, ...keys: string[]) =>
  keys.map((e) => childList(type, { e, m: 'm' }, type === 'looks' ? 'look' : ''));
const started = (planner: Planner): readonly string[] => {
  const keys: string[] = [];
  for (let next = planner.next(); next; next = planner.next()) keys.push(`${next.list.type} ${next.key}`);
  return keys;
};
const endsOf = (planner: Planner) => planner.takeFinished().map(({ ends }) => ends);

describe('the planner, with several types', () => {
  it('requests all remaining pages at once when the first has a total', () => {
    const planner = new Planner([models], [], 10);
    const first = planner.next();
    expect(planner.next()).toBeNull();
    planner.committed(resultFor(first, 10, { total: 35 }));
    expect(started(planner)).toEqual(['models offset:10+10', 'models offset:20+10', 'models offset:30+10']);
  });

  it('expects the largest total, so that a source that shrinks meanwhile is not reported as complete', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10, { total: 20 }));
    planner.committed(resultFor(planner.next(), 9, { total: 19 }));
    expect(planner.totalOf('models')).toBe(20);
  });

  it('identifies pages by keys that are the same in every version', () => {
    const child = childList('explores', { e: 'orders/2', m: 'the look' });
    const keys = [
      offsetPage('a', 20, 10),
      offsetPage('a', 0, 10, 'lookml'),
      singlePage('a'),
      pageOfList(child, { kind: 'page', page: 3, limit: 5 }),
      pageOfList(child, { kind: 'cursor', cursor: 'x y', index: 2, limit: 5 }),
    ].map(({ key }) => key);
    expect(keys).toEqual([
      'offset:20+10',
      'lookml/offset:0+10',
      'single',
      '@orders%2F2,the%20look/page:3*5',
      '@orders%2F2,the%20look/cursor:2:x y',
    ]);
  });

  it('does not replay the record of an incomplete parent as a page', () => {
    const failed = [{ ...singlePage('explores'), key: 'parents:models' }];
    const done = [
      resultFor(offsetPage('models', 0, 10), 1, { total: 1, children: children('explores', 'a') }),
    ];
    const progress: TypeProgress[] = [
      { type: 'models', state: 'completed', done, failed: [], itemsSeen: 1 },
      { type: 'explores', state: 'incomplete', done: [], failed, itemsSeen: 0 },
    ];
    expect(started(new Planner([models, explores], progress, 10))).toEqual(['explores @a,m/single']);
  });

  it('requests a later type while the earlier one has to wait', () => {
    const planner = new Planner([typeOf('a'), typeOf('b', 'cursor')], [], 10);
    expect(started(planner)).toEqual(['a offset:0+10', 'b cursor:0:']);
  });

  it('requests children as their parents arrive, each once, and ends only after the parents', () => {
    const planner = new Planner([models, explores], [], 10);
    const page = planner.next();
    planner.committed(resultFor(page, 2, { total: 2, children: children('explores', 'e', 'f', 'e') }));
    expect(planner.takeFinished().map(({ type }) => type)).toEqual(['models']);
    const [one, two] = [planner.next(), planner.next()];
    expect([one?.key, two?.key]).toEqual(['@e,m/single', '@f,m/single']);
    planner.committed(resultFor(one, 1));
    expect(planner.takeFinished()).toEqual([]);
    planner.committed(resultFor(two, 1));
    expect(planner.takeFinished()).toEqual([
      {
        type: 'explores',
        total: 2,
        ends: { single: 2 },
        areAllGone: false,
        isRequestedById: true,
        problems: [],
      },
    ]);
    expect(planner.isFinished).toBe(true);
  });

  it('does not report children as complete whose parents are incomplete', () => {
    const planner = new Planner([models, explores], [], 10);
    planner.failed(planner.next() ?? resultFor(null, 0).request, false);
    const finished = planner.takeFinished();
    expect(finished.map(({ type }) => type)).toEqual(['models', 'explores']);
    expect(finished[1]?.problems).toMatchObject([
      { cause: 'parent-incomplete', request: { list: { type: 'explores' } } },
    ]);
  });

  const tellOne = (planner: Planner, more: Partial<PageResult>) =>
    planner.committed(resultFor(planner.next(), 1, { children: children('explores', 'e'), ...more }));
  const exploresOf = (finished: ReturnType<Planner['takeFinished']>) =>
    finished.find(({ type }) => type === 'explores')?.problems.map(({ cause }) => cause);

  it('does not report children as complete when some of their parents were rejected, now or in an earlier run', () => {
    const planner = new Planner([models, explores], [], 10);
    tellOne(planner, { rejectedCount: 1, total: 2, elements: [0, 1] });
    planner.committed(resultFor(planner.next(), 1));
    expect(exploresOf(planner.takeFinished())).toEqual(['parent-incomplete']);
    const request = offsetPage('models', 0, 10);
    const done = [resultFor(request, 1, { rejectedCount: 1, total: 2, elements: [0, 1] })];
    const progress = [{ type: 'models', state: 'running', itemsSeen: 1, done, failed: [] } as const];
    expect(exploresOf(new Planner([models, explores], progress, 10).takeFinished())).toEqual([
      'parent-incomplete',
    ]);
  });

  it('does not report children as complete when the vault finds that parents are missing', () => {
    const planner = new Planner([models, explores], [], 10);
    tellOne(planner, { total: 1 });
    planner.committed(resultFor(planner.next(), 1));
    const settled = planner.takeFinished(({ type }) => (type === 'models' ? 'incomplete' : 'completed'));
    expect(exploresOf(settled)).toEqual(['parent-incomplete']);
  });

  it('requests one by one what a listing names, with the total of the listing', () => {
    const planner = new Planner([looks], [], 2);
    const first = planner.next();
    planner.committed(
      resultFor(first, 0, { total: 3, children: children('looks', '1', '2'), elements: [1, 2] }),
    );
    expect(started(planner)).toEqual([
      'looks offset:2+2',
      'looks look/@1,m/single',
      'looks look/@2,m/single',
    ]);
    expect(planner.totalOf('looks')).toBe(3);
  });

  it('requests only the children that are missing from the earlier run', () => {
    const request = offsetPage('models', 0, 10);
    const child = pageOfList(childList('explores', { e: 'e', m: 'm' }), { kind: 'single' });
    const progress: TypeProgress[] = [
      { type: 'explores', state: 'running', itemsSeen: 1, done: [resultFor(child, 1)], failed: [] },
      {
        type: 'models',
        state: 'completed',
        itemsSeen: 1,
        done: [resultFor(request, 1, { total: 1, children: children('explores', 'e', 'f') })],
        failed: [],
      },
    ];
    expect(started(new Planner([models, explores], progress, 10))).toEqual(['explores @f,m/single']);
  });

  it('reads each list of a type separately, and has a total when all lists have one', () => {
    const planner = new Planner(
      [
        typeOf('d', 'offset', {
          endpoints: ['', 'lookml'].map((name) => ({ name, pagination: 'offset' as const })),
        }),
      ],
      [],
      10,
    );
    const [plain, lookml] = [planner.next(), planner.next()];
    expect([plain?.key, lookml?.key, lookml?.list.endpoint]).toEqual([
      'offset:0+10',
      'lookml/offset:0+10',
      'lookml',
    ]);
    planner.committed(resultFor(plain, 3, { total: 3 }));
    expect(planner.totalOf('d')).toBeNull();
    planner.committed(resultFor(lookml, 4, { total: 4 }));
    expect(planner.takeFinished()).toMatchObject([{ type: 'd', total: 7 }]);
  });

  it('reads the lists of children page by page, until an empty one', () => {
    const posts = typeOf('posts', 'offset', { parent: { type: 'models', keys: { id: ['id'] } } });
    const planner = new Planner([models, posts], [], 2);
    planner.committed(resultFor(planner.next(), 1, { total: 1, children: children('posts', 'u') }));
    const first = planner.next();
    expect(first).toMatchObject({ position: { kind: 'offset', offset: 0, limit: 2 } });
    planner.committed(resultFor(first, 2));
    const second = planner.next();
    expect(second).toMatchObject({ position: { offset: 2, limit: 2 } });
    planner.committed(resultFor(second, 1));
    planner.committed(resultFor(planner.next(), 0));
    expect(planner.takeFinished()).toMatchObject([{ type: 'models' }, { type: 'posts', total: null }]);
  });
});

describe('the planner, when pages fail', () => {
  it('skips one failed page where the end is unknown, and treats two as the end', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10));
    const hole = planner.next();
    planner.failed(hole ?? resultFor(null, 0).request, true);
    const after = planner.next();
    expect(after?.key).toBe('offset:20+10');
    planner.failed(after ?? resultFor(null, 0).request, true);
    expect(planner.next()).toBeNull();
    expect(planner.takeFinished()).toHaveLength(1);
  });

  it('does not request a second page after a permanent failure', () => {
    const planner = new Planner([models], [], 10);
    planner.failed(planner.next() ?? resultFor(null, 0).request, false);
    expect(planner.next()).toBeNull();
  });

  it('stops requesting a type after ten consecutive failures', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10, { total: 10_000 }));
    let failures = 0;
    for (let next = planner.next(); next; next = planner.next()) {
      planner.failed(next, true);
      failures++;
    }
    expect(failures).toBe(10);
    expect(planner.takeFinished()).toHaveLength(1);
  });

  it('ends a chain of pages that leads back to an earlier page, with a problem', () => {
    const planner = new Planner([typeOf('c', 'cursor')], [], 10);
    planner.committed(resultFor(planner.next(), 10, { next: 'a' }));
    planner.committed(resultFor(planner.next(), 10, { next: 'b' }));
    planner.committed(resultFor(planner.next(), 10, { next: 'a' }));
    expect(planner.next()).toBeNull();
    expect(planner.takeFinished()[0]?.problems).toMatchObject([{ cause: 'repeated' }]);
  });

  it('follows links past short pages, and needs no further page where links end', () => {
    const planner = new Planner([models], [], 100);
    planner.committed(resultFor(planner.next(), 40, { next: 'more' }));
    const second = planner.next();
    expect(second).toMatchObject({ position: { offset: 40, limit: 80 } });
    planner.committed(resultFor(second, 40));
    expect(planner.next()).toBeNull();
  });
});

describe('the end of a list', () => {
  it('is proven by the total', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10, { total: 12 }));
    planner.committed(resultFor(planner.next(), 2, { total: 12 }));
    expect(endsOf(planner)).toEqual([{ total: 1 }]);
  });

  it('is not proven when fewer items than the total were received', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10, { total: 12 }));
    planner.committed(resultFor(planner.next(), 1, { total: 12 }));
    planner.committed(resultFor(planner.next(), 0, { total: 12 }));
    expect(endsOf(planner)).toEqual([{ unproven: 1 }]);
  });

  it('is proven by a page that names no next page', () => {
    const planner = new Planner([typeOf('c', 'cursor')], [], 10);
    planner.committed(resultFor(planner.next(), 10, { next: 'a' }));
    planner.committed(resultFor(planner.next(), 10));
    expect(endsOf(planner)).toEqual([{ 'no-next': 1 }]);
  });

  it('is proven by an empty page', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10));
    planner.committed(resultFor(planner.next(), 0));
    expect(endsOf(planner)).toEqual([{ 'empty-page': 1 }]);
  });

  it('is not proven by a page that is shorter than another (T1)', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10));
    planner.committed(resultFor(planner.next(), 3));
    expect(endsOf(planner)).toEqual([]);
    expect(planner.next()?.key).toBe('offset:13+10');
  });

  it.each([0, 10, 15])('is not proven by a total of %i after a full page (T1)', (total) => {
    const planner = new Planner([models], [], 10);
    for (let page = 0; page < 3; page++) planner.committed(resultFor(planner.next(), 10, { total }));
    expect(endsOf(planner)).toEqual([]);
    expect(planner.next()?.key).toBe('offset:30+10');
  });

  it('is not proven by a total while there is a next link (T1)', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 4, { total: 4, next: 'more' }));
    expect(endsOf(planner)).toEqual([]);
  });

  it('is proven by the only page of a list without pagination', () => {
    const planner = new Planner([typeOf('s', 'single')], [], 10);
    planner.committed(resultFor(planner.next(), 3));
    expect(endsOf(planner)).toEqual([{ single: 1 }]);
  });

  it('is not proven after a failed page', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(resultFor(planner.next(), 10, { total: 30 }));
    planner.failed(planner.next() ?? singlePage('?'), true);
    planner.committed(resultFor(planner.next(), 10, { total: 30 }));
    expect(endsOf(planner)).toEqual([{ unproven: 1 }]);
  });

  it('takes the largest total of a chain of pages', () => {
    const planner = new Planner([typeOf('c', 'cursor')], [], 10);
    planner.committed(resultFor(planner.next(), 10, { next: 'a', total: 20 }));
    planner.committed(resultFor(planner.next(), 9, { total: 19 }));
    expect(planner.totalOf('c')).toBe(20);
  });
});
