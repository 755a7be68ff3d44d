// One list that feeds a type, as its plan needs to know it.
import type { SettledPage, Paging } from '../../ports.ts';

export interface Feed {
  readonly type: string;
  /** Of the type's listings; empty for the one without a name. */
  readonly listing: string;
  readonly paging: Paging;
  /** Items asked for per page. */
  readonly limit: number;
  /** Its pages only say what is fetched one by one. */
  readonly isListing: boolean;
}

/** What every request of the feed begins with. */
export function requestHead(feed: Feed, place: string) {
  const key = feed.listing === '' ? place : `${feed.listing}/${place}`;
  return { type: feed.type, key, ...(feed.listing === '' ? {} : { listing: feed.listing }) };
}

/** How many a page held, stored or not. */
export function lengthOf(outcome: SettledPage, isListing: boolean): number {
  const { children, itemCount, rejectedCount, rejectedMembers = 0 } = outcome;
  return (isListing ? children.length : itemCount) + rejectedCount - rejectedMembers;
}

/** Two pages that begin with the same item and end with the same one are the same page. */
export function haveSameEnds(one: SettledPage, other: SettledPage): boolean {
  const [first, last] = one.ends ?? [];
  return first !== undefined && first === other.ends?.[0] && last === other.ends[1];
}
