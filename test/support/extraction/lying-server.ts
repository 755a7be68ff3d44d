// Generated servers that lie about their lists, and extractions of them into a real vault.
import * as fc from 'fast-check';
import { parsePage } from '../../../src/extraction/parsing/parse-page.ts';
import { Planner } from '../../../src/extraction/pipeline/planner.ts';
import type { ContentType, PageRequest, Pagination, TypeState } from '../../../src/extraction/types.ts';
import type { VaultWorld } from '../vault-world.ts';
import { noTotals, specOf } from '../vault-world.ts';
import { typeOf } from './pages.ts';

export interface Lies {
  readonly pagination: Exclude<Pagination, 'single'>;
  /** The list is below a parent. */
  readonly isChild: boolean;
  readonly total: 'none' | 'honest' | 'zero' | 'small' | 'large' | 'varying';
  /**
   * `capped`: the server has a smaller limit. `short`, `empty`, `gone` (404): a page in the middle is. `hidden`: items are left
   * out of pages.
   */
  readonly pages: 'full' | 'capped' | 'short' | 'empty' | 'gone' | 'hidden';
  /** Links of numbered pages (pages by cursor always have links). `cut`: they end in the middle. `endless`: they never end. */
  readonly links: 'none' | 'honest' | 'cut' | 'endless';
  /** `ignored`: every page is the first. `overlapping`: pages repeat an item. `skipping`: pages leave one out. */
  readonly position: 'honest' | 'ignored' | 'overlapping' | 'skipping';
}

/** What the server has in each extraction: item numbers. */
export interface Case {
  readonly lies: Lies;
  readonly truths: readonly (readonly number[])[];
  /** Which page in flight is answered next. */
  readonly picks: readonly number[];
}

const limit = 10;
const isChained = ({ pagination }: Lies) => pagination === 'cursor' || pagination === 'link';

/** The first value as often as all others together: with lies of every kind at once, one hides the other. */
const mostly = <T>(first: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(fc.constant(first), fc.constantFrom(...others));

const anyLies: fc.Arbitrary<Lies> = fc.record<Lies>({
  pagination: fc.constantFrom('offset', 'page', 'offset', 'page', 'cursor', 'link'),
  isChild: mostly(false, true),
  total: fc.constantFrom('none', 'honest', 'zero', 'small', 'large', 'varying'),
  pages: mostly<Lies['pages']>('full', 'capped', 'short', 'empty', 'gone', 'hidden'),
  links: mostly<Lies['links']>('none', 'honest', 'cut', 'endless'),
  position: mostly<Lies['position']>('honest', 'ignored', 'overlapping', 'skipping'),
});

/**
 * No reader can detect a server whose lies are consistent with each other: what T1 accepts as evidence must be true in at
 * least one way. An empty page or a missing link in the middle and items that are never returned are detectable only by a
 * total that is not too small; a total that is too small only where pages are full or links are honest.
 */
export function areDetectable(lies: Lies): boolean {
  const isTotalEnough = lies.total === 'honest' || lies.total === 'large';
  const isTotalLow = !isTotalEnough && lies.total !== 'none';
  const hidesEnd =
    lies.links === 'cut' ||
    lies.position === 'skipping' ||
    lies.pages === 'empty' ||
    (lies.pages === 'short' && lies.pagination === 'page') ||
    (lies.pages === 'hidden' && !isChained(lies));
  if (hidesEnd) return isTotalEnough;
  // A total that is right by chance confirms the end.
  if (lies.pages === 'gone') return lies.total !== 'small' && lies.total !== 'varying';
  const hasLinks = isChained(lies) || lies.links !== 'none';
  return !isTotalLow || lies.pages === 'full' || hasLinks;
}

const lyingServers = anyLies.filter(areDetectable);

export const cases: fc.Arbitrary<Case> = fc.record({
  lies: lyingServers,
  truths: fc.array(
    fc.shuffledSubarray(
      Array.from({ length: 60 }, (_, item) => item),
      { maxLength: 50 },
    ),
    { minLength: 3, maxLength: 4 },
  ),
  picks: fc.array(fc.nat(20), { minLength: 5, maxLength: 5 }),
});

interface Response {
  readonly items: readonly number[];
  readonly total: number | null;
  readonly next: string | null;
  readonly isMissing?: boolean;
}

/** The response of a list to a request. */
function respond(lies: Lies, truth: readonly number[], { position }: PageRequest): Response {
  if (position.kind === 'single') throw new TypeError('Lists without pages are not generated.');
  const size = Math.min(position.limit, lies.pages === 'capped' ? 4 : Number.POSITIVE_INFINITY);
  const requested = startOf(position, size);
  const start = {
    honest: 0,
    ignored: -requested,
    overlapping: requested > 0 ? -1 : 0,
    skipping: requested > 0 ? 1 : 0,
  };
  const from = requested + start[lies.position];
  const isMiddle = from > 0 && from + size < truth.length;
  const shown = {
    full: size,
    capped: size,
    short: isMiddle ? size - 3 : size,
    empty: isMiddle ? 0 : size,
    gone: size,
    hidden: size,
  };
  if (lies.pages === 'gone' && isMiddle && requested < 2 * size)
    return { items: [], total: null, next: null, isMissing: true };
  const length = Math.max(shown[lies.pages], lies.pages === 'short' ? 1 : 0);
  const page = truth.slice(from, from + length);
  const items = lies.pages === 'hidden' ? page.filter((item) => item % 7 !== 0) : page;
  const reached = from + (position.kind === 'page' || lies.pages === 'empty' ? size : length);
  const isLast = reached >= truth.length;
  return {
    items,
    total: totalOf(lies, truth, requested),
    next: nextOf(lies, isLast, requested + reached - from),
  };
}

function startOf(position: Exclude<PageRequest['position'], { kind: 'single' }>, size: number): number {
  if (position.kind === 'offset') return position.offset;
  if (position.kind === 'page') return position.page * size;
  return Number((position.cursor ?? '0').split('-')[0]);
}

function totalOf({ total, pages }: Lies, truth: readonly number[], start: number): number | null {
  const count = pages === 'hidden' ? visible(truth).length : truth.length;
  const totals = {
    none: null,
    honest: count,
    zero: 0,
    small: Math.floor(count / 2),
    large: count + 7,
    varying: Math.floor(count / (2 + (start % 3))),
  };
  return totals[total];
}

let requests = 0;

function nextOf(lies: Lies, isLast: boolean, next: number): string | null {
  const links = isChained(lies) && lies.links === 'none' ? 'honest' : lies.links;
  if (links === 'none' || (isLast && links !== 'endless')) return null;
  if (links === 'cut' && next > limit) return null;
  // Cursors that never repeat.
  return `${next}-${(requests += 1)}`;
}

/** What a reader can see. */
export const visible = (truth: readonly number[]): readonly number[] =>
  truth.filter((item) => item % 7 !== 0);

export interface Extracted {
  readonly state: TypeState;
  readonly calls: number;
  readonly reason: unknown;
}

/** One extraction of everything into the vault. */
export function extractLying(world: VaultWorld, { lies, picks }: Case, truth: readonly number[]): Extracted {
  const types = typesOf(lies);
  const { sessions } = world.vault;
  const session = sessions.open(specOf({ types, fresh: true }));
  const planner = new Planner(types, [], limit);
  const inFlight: PageRequest[] = [];
  let calls = 0;
  for (;;) {
    for (let next = planner.next(); next; next = inFlight.length < 4 ? planner.next() : null)
      inFlight.push(next);
    const [request] = inFlight.splice((picks[calls % picks.length] ?? 0) % Math.max(1, inFlight.length), 1);
    if (!request) break;
    calls += 1;
    if (calls > 2_000) throw new Error('The list is read forever.');
    const isParent = request.list.type === 'parents';
    const { items, total, next, isMissing = false } = isParent ? parent : respond(lies, truth, request);
    if (isMissing && isChained(lies)) {
      sessions.fail(session.id, request, 'not-found', '404');
      planner.failed(request, false);
      continue;
    }
    const body = Buffer.from(JSON.stringify(items.map((id) => ({ id }))));
    const parsed = { ...parsePage(request, body, types), hasNoList: isMissing };
    planner.committed(world.writer.write(session.id, parsed, { total, nextLink: next }));
  }
  const finished = planner.takeFinished(({ type, total, ends, problems }) => {
    for (const { request, cause, message } of problems) sessions.fail(session.id, request, cause, message);
    return sessions.finishType(session.id, type, { expectedTotal: total, ends });
  });
  if (finished.length !== types.length) throw new Error('The extraction did not end.');
  sessions.finish(session.id, 'completed', noTotals);
  const [row] = world.rows(
    `SELECT state, reason FROM checkpoints ORDER BY session DESC, content_type DESC LIMIT 1`,
  );
  return { state: row?.['state'] as TypeState, calls, reason: row?.['reason'] };
}

const parent: Response = { items: [1], total: null, next: null };

function typesOf({ pagination, isChild }: Lies): readonly ContentType[] {
  if (!isChild) return [typeOf('things', pagination)];
  return [
    typeOf('parents', 'single'),
    typeOf('things', pagination, { parent: { type: 'parents', keys: { id: ['id'] } } }),
  ];
}

export interface Outcome extends Extracted {
  /** Ids of things seen by the last extraction, and of things that are marked deleted. */
  readonly seen: readonly number[];
  readonly deleted: readonly number[];
}

export function outcomeOf(world: VaultWorld, extracted: Extracted): Outcome {
  const ids = (condition: string) =>
    world
      .rows(
        `SELECT id FROM items JOIN content_types AS type ON type.number = content_type
         WHERE type.name = 'things' AND ${condition}`,
      )
      .map(({ id }) => Number(id))
      .sort((one, other) => one - other);
  return {
    ...extracted,
    seen: ids('session = (SELECT max(number) FROM extraction_sessions)'),
    deleted: ids('deleted_at IS NOT NULL'),
  };
}
