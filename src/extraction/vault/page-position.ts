// Where an item stands in the source's own order: what decides between two sightings of one id, whoever came first.
import type { PageRequest } from '../ports.ts';

/** More than any page holds. */
const largestPage = 1_000_000;

/** The position of the page's first item. Children have no order among themselves. */
export function firstPosition(request: PageRequest): number {
  switch (request.kind) {
    case 'offset':
      return request.offset;
    case 'page':
      return request.page * request.limit;
    case 'cursor':
      return request.index * largestPage;
    case 'child':
      return (request.position?.index ?? 0) * largestPage;
    default:
      return 0;
  }
}
