import { describe, expect, it } from 'vitest';
import type { PageRequest, PageResult, ContentType, TypeProgress } from '../types.ts';
import { Planner } from './planner.ts';

const shape = { items: { kind: 'list', path: [] }, id: [['id']] } as const;
const typeOf = (name: string, more: Partial<ContentType> = {}): ContentType => ({
  name,
  number: null,
  pagination: 'offset',
  shape,
  ...more,
});
const models = typeOf('models');
const explores = typeOf('explores', {
  pagination: 'whole',
  shape: { items: { kind: 'single' }, id: [['name']] },
  parent: { from: 'models', children: ['explores'], key: ['name'], parentKey: ['name'] },
});
const looks = typeOf('looks', { parent: { from: 'self', key: ['id'] } });

const told = (
  request: PageRequest | null,
  itemCount: number,
  more: Partial<PageResult> = {},
): PageResult => ({
  request: request ?? { type: '?', key: '?', kind: 'whole' },
  itemCount,
  rejectedCount: 0,
  total: null,
  next: null,
  children: [],
  ...more,
});
const children = (type: string, ...keys: string[]) =>
  keys.map((childKey) => ({ type, childKey, parentKey: 'm' }));
const started = (planner: Planner): readonly string[] => {
  const keys: string[] = [];
  for (let next = planner.next(); next; next = planner.next()) keys.push(`${next.type} ${next.key}`);
  return keys;
};

describe('the planner, over several types', () => {
  it('asks for all remaining pages at once when the first tells a total', () => {
    const planner = new Planner([models], [], 10);
    const first = planner.next();
    expect(planner.next()).toBeNull();
    planner.committed(told(first, 10, { total: 35 }));
    expect(started(planner)).toEqual(['models offset:10+10', 'models offset:20+10', 'models offset:30+10']);
  });

  it('expects the largest total it was told, so that a source that shrinks meanwhile is not called complete', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(told(planner.next(), 10, { total: 20 }));
    planner.committed(told(planner.next(), 9, { total: 19 }));
    expect(planner.totalOf('models')).toBe(20);
  });

  it('takes a later type while the earlier one has to wait', () => {
    const planner = new Planner([typeOf('a'), typeOf('b', { pagination: 'cursor' })], [], 10);
    expect(started(planner)).toEqual(['a offset:0+10', 'b cursor:0:']);
  });

  it('asks for children as their parents come, each once, and ends only after the parents', () => {
    const planner = new Planner([models, explores], [], 10);
    const page = planner.next();
    planner.committed(told(page, 2, { total: 2, children: children('explores', 'e', 'f', 'e') }));
    expect(planner.takeFinished().map(({ type }) => type)).toEqual(['models']);
    const [one, two] = [planner.next(), planner.next()];
    expect([one?.key, two?.key]).toEqual(['child:m::e', 'child:m::f']);
    planner.committed(told(one, 1));
    expect(planner.takeFinished()).toEqual([]);
    planner.committed(told(two, 1));
    expect(planner.takeFinished()).toEqual([{ type: 'explores', total: 2, problems: [] }]);
    expect(planner.isFinished).toBe(true);
  });

  it('does not call children complete whose parents are not', () => {
    const planner = new Planner([models, explores], [], 10);
    planner.failed(planner.next() ?? told(null, 0).request, false);
    const finished = planner.takeFinished();
    expect(finished.map(({ type }) => type)).toEqual(['models', 'explores']);
    expect(finished[1]?.problems).toMatchObject([
      { cause: 'parent-incomplete', request: { type: 'explores' } },
    ]);
  });

  const tellOne = (planner: Planner, more: Partial<PageResult>) =>
    planner.committed(told(planner.next(), 1, { children: children('explores', 'e'), ...more }));
  const exploresOf = (finished: ReturnType<Planner['takeFinished']>) =>
    finished.find(({ type }) => type === 'explores')?.problems.map(({ cause }) => cause);

  it('does not call children complete when some of their parents could not be taken in, now or in a run before', () => {
    const planner = new Planner([models, explores], [], 10);
    tellOne(planner, { rejectedCount: 1, total: 2 });
    planner.committed(told(planner.next(), 1));
    expect(exploresOf(planner.takeFinished())).toEqual(['parent-incomplete']);
    const request = { type: 'models', key: 'offset:0+10', kind: 'offset', offset: 0, limit: 10 } as const;
    const done = [told(request, 1, { rejectedCount: 1, total: 2 })];
    const progress = [{ type: 'models', status: 'running', itemsSeen: 1, done, failed: [] } as const];
    expect(exploresOf(new Planner([models, explores], progress, 10).takeFinished())).toEqual([
      'parent-incomplete',
    ]);
  });

  it('does not call children complete when the vault finds that parents are missing', () => {
    const planner = new Planner([models, explores], [], 10);
    tellOne(planner, { total: 1 });
    planner.committed(told(planner.next(), 1));
    const settled = planner.takeFinished(({ type }) => (type === 'models' ? 'incomplete' : 'completed'));
    expect(exploresOf(settled)).toEqual(['parent-incomplete']);
  });

  it('does not take what an item names for another item of the page', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(told(planner.next(), 10));
    planner.committed(told(planner.next(), 9, { rejectedCount: 1, rejectedMembers: 1 }));
    expect(planner.next()).toBeNull();
  });

  it('fetches one by one what a listing names, with the total of the listing', () => {
    const planner = new Planner([looks], [], 2);
    const first = planner.next();
    planner.committed(told(first, 0, { total: 3, children: children('looks', '1', '2') }));
    expect(started(planner)).toEqual(['looks offset:2+2', 'looks child:m::1', 'looks child:m::2']);
    expect(planner.totalOf('looks')).toBe(3);
  });

  it('asks again only for the children that did not come in the run before', () => {
    const request = { type: 'models', key: 'offset:0+10', kind: 'offset', offset: 0, limit: 10 } as const;
    const child = {
      type: 'explores',
      key: 'child:m::e',
      kind: 'child',
      childKey: 'e',
      parentKey: 'm',
    } as const;
    const progress: TypeProgress[] = [
      { type: 'explores', status: 'running', itemsSeen: 1, done: [told(child, 1)], failed: [] },
      {
        type: 'models',
        status: 'completed',
        itemsSeen: 1,
        done: [told(request, 1, { total: 1, children: children('explores', 'e', 'f') })],
        failed: [],
      },
    ];
    expect(started(new Planner([models, explores], progress, 10))).toEqual(['explores child:m::f']);
  });

  it('reads each list of a type on its own, and knows the total when all told theirs', () => {
    const planner = new Planner([typeOf('d', { listings: [{ name: '' }, { name: 'lookml' }] })], [], 10);
    const [plain, lookml] = [planner.next(), planner.next()];
    expect([plain?.key, lookml?.key, lookml?.listing]).toEqual([
      'offset:0+10',
      'lookml/offset:0+10',
      'lookml',
    ]);
    planner.committed(told(plain, 3, { total: 3 }));
    expect(planner.totalOf('d')).toBeNull();
    planner.committed(told(lookml, 4, { total: 4 }));
    expect(planner.takeFinished()).toMatchObject([{ type: 'd', total: 7 }]);
  });

  it('pages through the lists of children, and stops at a short page', () => {
    const posts = typeOf('posts', { parent: { from: 'models', key: ['id'] } });
    const planner = new Planner([models, posts], [], 2);
    planner.committed(told(planner.next(), 1, { total: 1, children: children('posts', 'u') }));
    const first = planner.next();
    expect(first).toMatchObject({ kind: 'child', position: { index: 0, cursor: null, limit: 2 } });
    planner.committed(told(first, 2));
    const second = planner.next();
    expect(second).toMatchObject({ position: { index: 1, limit: 2 } });
    planner.committed(told(second, 1));
    expect(planner.takeFinished()).toMatchObject([{ type: 'models' }, { type: 'posts', total: null }]);
  });
});

describe('the planner, when pages do not come', () => {
  it('steps over one hole where the end is not known, and takes two for the end', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(told(planner.next(), 10));
    const hole = planner.next();
    planner.failed(hole ?? told(null, 0).request, true);
    const after = planner.next();
    expect(after?.key).toBe('offset:20+10');
    planner.failed(after ?? told(null, 0).request, true);
    expect(planner.next()).toBeNull();
    expect(planner.takeFinished()).toHaveLength(1);
  });

  it('does not ask for a second page of what is forbidden', () => {
    const planner = new Planner([models], [], 10);
    planner.failed(planner.next() ?? told(null, 0).request, false);
    expect(planner.next()).toBeNull();
  });

  it('gives a type up after ten failures in a row instead of asking for every page', () => {
    const planner = new Planner([models], [], 10);
    planner.committed(told(planner.next(), 10, { total: 10_000 }));
    let failures = 0;
    for (let next = planner.next(); next; next = planner.next()) {
      planner.failed(next, true);
      failures++;
    }
    expect(failures).toBe(10);
    expect(planner.takeFinished()).toHaveLength(1);
  });

  it('ends a chain that leads back to where it was, and says so', () => {
    const planner = new Planner([typeOf('c', { pagination: 'cursor' })], [], 10);
    planner.committed(told(planner.next(), 10, { next: 'a' }));
    planner.committed(told(planner.next(), 10, { next: 'b' }));
    planner.committed(told(planner.next(), 10, { next: 'a' }));
    expect(planner.next()).toBeNull();
    expect(planner.takeFinished()[0]?.problems).toMatchObject([{ cause: 'repeated' }]);
  });

  it('follows links past pages that are shorter than asked for, and needs no probe where links end', () => {
    const planner = new Planner([models], [], 100);
    planner.committed(told(planner.next(), 40, { next: 'more' }));
    const second = planner.next();
    expect(second).toMatchObject({ offset: 40, limit: 80 });
    planner.committed(told(second, 40));
    expect(planner.next()).toBeNull();
  });

  it('gives a page that was not asked for after all to the next who asks', () => {
    const planner = new Planner([models], [], 10);
    const request = planner.next();
    planner.dropped(request ?? told(null, 0).request);
    expect(planner.next()).toEqual(request);
  });
});
