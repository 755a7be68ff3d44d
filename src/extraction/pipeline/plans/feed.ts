// One list that feeds a type, as its plan needs to know it.
import type { PageOutcome, Paging } from '../../ports.ts';

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
export function lengthOf(outcome: PageOutcome, isListing: boolean): number {
  return (isListing ? outcome.children.length : outcome.itemCount) + outcome.rejectedCount;
}
