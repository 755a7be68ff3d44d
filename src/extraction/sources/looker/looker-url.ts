// The address that a page of Looker is asked by.
import type { PageRequest } from '../../types.ts';
import { filledPath } from '../request-builder.ts';
import type { LookerAddress, LookerType } from './description.ts';

/** Fails with a TypeError for a request that no plan over these types holds: a bug of ours. */
export function lookerUrl(address: LookerAddress, types: readonly LookerType[], request: PageRequest): URL {
  const of = types.find(({ type }) => type.name === request.type);
  if (request.kind === 'child' && of?.itemPath !== undefined) {
    const keys = { child: request.childKey, parent: request.parentKey };
    return new URL(address.api + filledPath(of.itemPath, keys));
  }
  const list = of?.lists.find(({ name }) => name === (request.listing ?? ''));
  if (request.kind !== 'offset' || !list)
    throw new TypeError(`Looker has no page "${request.key}" of ${request.type}.`);
  const url = new URL(address.api + list.path);
  const pagination = { limit: String(request.limit), offset: String(request.offset) };
  for (const [name, value] of Object.entries({ ...list.query, ...pagination }))
    url.searchParams.set(name, value);
  return url;
}
