// State of a review session. It keeps its order while the server's list changes, so that a decision is always about the
// pair on screen.
//
// A pair is open or has a verdict. Decided pairs stay in place: the reviewer can go back and undo. A postponed pair
// (`later`) counts as decided and can be reviewed again at the end.

export type Verdict = 'same' | 'different' | 'later';

export interface ReviewSession {
  readonly order: readonly string[];
  /** Index of the current pair; `order.length` at the end. */
  readonly at: number;
  readonly verdicts: Readonly<Record<string, Verdict>>;
  /** Decided pairs, oldest first. */
  readonly decided: readonly string[];
}

export const emptySession: ReviewSession = { order: [], at: 0, verdicts: {}, decided: [] };

/** Applies the server's open pairs: appends new ones, removes those decided elsewhere, except the current one. */
export function withOpenPairs(session: ReviewSession, open: readonly string[]): ReviewSession {
  const { order, at, verdicts } = session;
  const isOpen = new Set(open);
  const known = new Set(order);
  const kept = order.filter((id, index) => isOpen.has(id) || id in verdicts || index === at);
  const added = open.filter((id) => !known.has(id));
  if (kept.length === order.length && added.length === 0) return session;
  const next = [...kept, ...added];
  const current = order.slice(at).find((id) => kept.includes(id));
  return { ...session, order: next, at: current === undefined ? kept.length : next.indexOf(current) };
}

/** Records a verdict and moves to the next open pair. */
export function withVerdict(session: ReviewSession, id: string, verdict: Verdict): ReviewSession {
  const verdicts = { ...session.verdicts, [id]: verdict };
  const decided = [...session.decided.filter((each) => each !== id), id];
  return { ...session, verdicts, decided, at: nextOpen(session.order, verdicts, session.order.indexOf(id)) };
}

/** Reopens a pair and makes it current. */
export function reopened(session: ReviewSession, id: string): ReviewSession {
  const { [id]: _gone, ...verdicts } = session.verdicts;
  return {
    ...session,
    verdicts,
    decided: session.decided.filter((each) => each !== id),
    at: Math.max(0, session.order.indexOf(id)),
  };
}

export function moved(session: ReviewSession, by: number): ReviewSession {
  return { ...session, at: Math.min(Math.max(0, session.at + by), session.order.length) };
}

/** Reopens postponed pairs. */
export function withPostponedReopened(session: ReviewSession): ReviewSession {
  const verdicts = Object.fromEntries(
    Object.entries(session.verdicts).filter(([, verdict]) => verdict !== 'later'),
  );
  const decided = session.decided.filter((id) => id in verdicts);
  return { ...session, verdicts, decided, at: nextOpen(session.order, verdicts, -1) };
}

export const countOf = ({ verdicts }: ReviewSession, wanted: Verdict): number =>
  Object.values(verdicts).filter((verdict) => verdict === wanted).length;

/** The next open pair after `after`, else the first open one, else the end. */
function nextOpen(order: readonly string[], verdicts: ReviewSession['verdicts'], after: number): number {
  const isOpen = (id: string): boolean => !(id in verdicts);
  const behind = order.findIndex((id, index) => index > after && isOpen(id));
  if (behind >= 0) return behind;
  const first = order.findIndex(isOpen);
  return first >= 0 ? first : order.length;
}
