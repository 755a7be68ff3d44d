// A resource as it is used, from what the file says of it.
import type { ItemShape } from '../../ports.ts';
import { parentInId } from './check-resources.ts';
import { resolveParent } from './resource-gaps.ts';
import type { RestPagination, RestResource } from './rest-definition.ts';
import type { RawResource } from './rest-schema.ts';

export function resolveResource(raw: RawResource): RestResource {
  const { total, pagination } = raw;
  return {
    name: raw.name,
    path: raw.path,
    query: Object.fromEntries(Object.entries(raw.query).map(([name, value]) => [name, String(value)])),
    pagination: resolvePagination(pagination),
    pageSize: ('page_size' in pagination ? pagination.page_size : undefined) ?? null,
    shape: shapeOf(raw),
    totalHeader: total && 'header' in total ? total.header.toLowerCase() : null,
    parent: resolveParent(raw),
  };
}

function resolvePagination(raw: RawResource['pagination']): RestPagination {
  switch (raw.type) {
    case 'none':
      return { type: 'none' };
    case 'offset':
      return { type: 'offset', offsetParam: raw.offset_param, limitParam: raw.limit_param, start: raw.start };
    case 'page':
      return { type: 'page', pageParam: raw.page_param, sizeParam: raw.size_param, start: raw.start };
    case 'cursor':
      return { type: 'cursor', cursorParam: raw.cursor_param ?? null, sizeParam: raw.size_param ?? null };
    case 'link':
  }
  return { type: 'link', sizeParam: raw.size_param ?? null };
}

function shapeOf(raw: RawResource): ItemShape {
  const { fields, total, pagination, items } = raw;
  const ids = [raw.id].flat();
  const optional = {
    name: fields.name,
    owner: fields.owner,
    folder: fields.folder,
    createdAt: fields.created_at,
    updatedAt: fields.updated_at,
    nextCursor: pagination.type === 'cursor' ? pagination.cursor_path : undefined,
    total: total && 'path' in total ? total.path : undefined,
  };
  return {
    items: raw.single ? { kind: 'single' } : { kind: 'list', path: items?.split('.') ?? [] },
    id: ids.filter((id) => id !== parentInId).map((id) => id.split('.')),
    ...(ids.includes(parentInId) ? { isIdWithinParent: true } : {}),
    ...Object.fromEntries(
      Object.entries(optional).flatMap(([key, path]) => (path === undefined ? [] : [[key, path.split('.')]])),
    ),
  };
}
