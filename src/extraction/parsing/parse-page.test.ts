import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { childList, offsetPage, pageOfList, typeOf } from '../../../test/support/extraction/pages.ts';
import type { ContentType, ItemShape, PageRequest } from '../types.ts';
import { PageRejectedError, parsePage } from './parse-page.ts';

const request = offsetPage('things', 0, 10);
const list: ItemShape = {
  items: { kind: 'list', path: [] },
  id: [['id']],
  name: ['title'],
  owner: ['owner', 'id'],
  folder: ['folder_id'],
  createdAt: ['created'],
  updatedAt: ['updated'],
};
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));
const parse = (text: string, shape = list, of: PageRequest = request) =>
  parsePage(of, bytesOf(text), [typeOf(of.list.type, 'offset', { shape })]);

describe('parsing a page', () => {
  it('reads the facts of an item, its own bytes and their hash', () => {
    const raw =
      '{"id": 7, "title":"Ärger", "owner":{"id":"u1"}, "folder_id":12, "created":"2024-02-29T10:00:00Z"}';
    const [item] = parse(`[ ${raw} ]`).items;
    expect(item).toMatchObject({ id: '7', name: 'Ärger', owner: 'u1', folder: '12', updatedAt: null });
    expect(item?.createdAt).toBe(Date.UTC(2024, 1, 29, 10));
    expect(Buffer.from(item?.raw ?? []).toString()).toBe(raw);
    expect(item?.rawHash).toBe(createHash('sha256').update(raw).digest().readBigInt64BE(0));
  });

  it.each([
    ['{"title":"x"}', 'no-id'],
    ['{"id":null}', 'no-id'],
    ['{"id":""}', 'no-id'],
    ['{"id":{"a":1}}', 'bad-id'],
    ['{"id":true}', 'bad-id'],
    ['[1]', 'not-an-object'],
    ['"text"', 'not-an-object'],
    ['{"id":nope}', 'malformed'],
  ])('rejects %s as %s and keeps its neighbors, under no invented id', (bad, cause) => {
    const page = parse(`[{"id":1},${bad},{"id":3}]`);
    expect(page.items.map(({ id }) => id)).toEqual(['1', '3']);
    expect(page.rejected).toHaveLength(1);
    expect(page.rejected[0]?.cause).toBe(cause);
    expect(Buffer.from(page.rejected[0]?.raw ?? []).toString()).toBe(bad);
  });

  it.each([
    ['', 'malformed'],
    ['<html>', 'malformed'],
    ['[{"id":1},', 'malformed'],
    ['[{"id":1}] x', 'malformed'],
    ['{"message":"Not found"}', 'unexpected-shape'],
    ['null', 'unexpected-shape'],
  ])('rejects the whole page %j as %s', (text, rejection) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ name: 'PageRejectedError', rejection }));
  });

  it('rejects a body that should be one item and is not JSON', () => {
    const single: ItemShape = { items: { kind: 'single' }, id: [['id']] };
    expect(() => parse('{"id":', single)).toThrow(expect.objectContaining({ rejection: 'malformed' }));
    expect(parse('{"message":"?"}', single).rejected).toMatchObject([{ cause: 'no-id' }]);
  });

  it('rejects bytes that are not UTF-8', () => {
    const broken = new Uint8Array([...bytesOf('[{"id":"'), 0xff, 0xfe, ...bytesOf('"}]')]);
    expect(() => parsePage(request, broken, [typeOf('things', 'offset', { shape: list })])).toThrow(
      PageRejectedError,
    );
  });

  it('keeps every digit of an id past 2^53: two ids never become one', () => {
    const page = parse('[{"id":12345678901234567891},{"id":12345678901234567892}]');
    expect(page.items.map(({ id }) => id)).toEqual(['12345678901234567891', '12345678901234567892']);
  });

  it('returns null for missing and invalid fields', () => {
    const [item] = parse('[{"id":1,"title":["x"],"created":"soon","updated":"2023-02-30"}]').items;
    expect(item).toMatchObject({ name: null, owner: null, folder: null, createdAt: null, updatedAt: null });
  });

  it('reads the cursor and the total of a page', () => {
    const shape: ItemShape = {
      items: { kind: 'list', path: ['data', 'rows'] },
      id: [['id']],
      nextCursor: ['meta', 'next'],
      total: ['meta', 'total'],
    };
    const page = parse('{"data":{"rows":[{"id":"a"}]},"meta":{"next":"c2","total":"41"}}', shape);
    expect(page).toMatchObject({ nextCursor: 'c2', total: 41 });
    expect(parse('{"data":{"rows":[]},"meta":{"next":null}}', shape)).toMatchObject({
      nextCursor: null,
      total: null,
    });
  });

  it('joins the parts of a composite id, the parent first where ids are unique within it only', () => {
    const shape: ItemShape = { items: { kind: 'single' }, id: [['model'], ['name']] };
    const child = pageOfList(childList('things', { 'parent.id': '7' }), { kind: 'single' });
    const body = ' {"model":"m","name":"e"}\n';
    expect(parse(body, shape).items.map(({ id }) => id)).toEqual(['m::e']);
    expect(Buffer.from(parse(body, shape).items[0]?.raw ?? []).toString()).toBe(body.trim());
    const childIds = { ...shape, isIdWithinParent: true };
    expect(parse(body, childIds, child).items.map(({ id }) => id)).toEqual(['7::m::e']);
  });
});

describe('children listed in the items of a page', () => {
  const models = typeOf('models', 'single', { shape: { ...list, id: [['name']] } });
  const explores = typeOf('explores', 'single', {
    shape: { items: { kind: 'single' }, id: [['name']] },
    parent: {
      type: 'models',
      itemsAt: ['explores'],
      keys: { explore: ['name'] },
      parentKeys: { model: ['name'] },
      hasChildrenAt: ['has_content'],
    },
  });
  const looks: ContentType = typeOf('looks', 'offset', {
    shape: { items: { kind: 'single' }, id: [['id']] },
    endpoints: [
      {
        name: '',
        pagination: 'offset',
        shape: { items: { kind: 'list', path: [] }, id: [['id']] },
        isListingOnly: true,
      },
      { name: 'look', pagination: 'single' },
    ],
    parent: { type: 'looks', keys: { id: ['id'] } },
  });
  const types = [models, explores, looks];
  const read = (type: string, text: string, of: PageRequest = offsetPage(type, 0, 10)) =>
    parsePage(of, bytesOf(text), types);

  it("are lists with the parent's keys, and one without a key is rejected", () => {
    const text = '[{"name":"m","explores":[{"name":"e"},{"label":"?"}]},{"name":"n","explores":[]}]';
    const page = read('models', text);
    expect(page.children).toEqual([childList('explores', { explore: 'e', model: 'm' })]);
    expect(page.items).toHaveLength(2);
    expect(page.rejected).toMatchObject([{ cause: 'no-id' }]);
  });

  it.each(['{"name":"m","explores":null}', '{"name":"m"}', '{"name":"m","explores":{"e":{}}}'])(
    'are rejected where %j has no list of them',
    (model) => {
      const page = read('models', `[${model}]`);
      expect(page.items).toHaveLength(1);
      expect(page.rejected).toMatchObject([
        { cause: 'no-list', message: 'Its "explores", which names its explores, is not a list.' },
      ]);
    },
  );

  it('are none where the item is marked as having none', () => {
    const page = read('models', '[{"name":"m","explores":null,"has_content":false}]');
    expect(page).toMatchObject({ items: [{ id: 'm' }], rejected: [], children: [] });
  });

  it('are all that a listing contains: its items are not stored', () => {
    const page = read('looks', '[{"id":"1"},{"id":"2"},{}]');
    expect(page.items).toEqual([]);
    expect(page.children).toEqual(['1', '2'].map((id) => childList('looks', { id }, 'look')));
    expect(page.rejected).toHaveLength(1);
    const look = pageOfList(childList('looks', { id: '1' }, 'look'), { kind: 'single' });
    expect(read('looks', '{"id":"1","query":{}}', look)).toMatchObject({
      items: [{ id: '1' }],
      children: [],
    });
  });
});
