// Going through pairs one by one. A sitting keeps its order while the server's list changes below it, so that nobody
// answers about another pair than the one they look at.
//
// A pair is unanswered, or answered by a verdict. What was answered stays where it is: one can go back to it and take it
// back. What was put off (`later`) counts as answered here, and can be looked at again at the end.

export type Verdict = 'same' | 'different' | 'later';

export interface Sitting {
  readonly order: readonly string[];
  /** The one that is looked at; `order.length`: through with all. */
  readonly at: number;
  readonly verdicts: Readonly<Record<string, Verdict>>;
  /** Answered pairs, the last one last. */
  readonly said: readonly string[];
}

export const emptySitting: Sitting = { order: [], at: 0, verdicts: {}, said: [] };

/** With the server's open pairs: new ones come last, those that others answered go, unless one looks at it now. */
export function takenIn(sitting: Sitting, open: readonly string[]): Sitting {
  const { order, at, verdicts } = sitting;
  const isOpen = new Set(open);
  const known = new Set(order);
  const kept = order.filter((id, index) => isOpen.has(id) || id in verdicts || index === at);
  const added = open.filter((id) => !known.has(id));
  if (kept.length === order.length && added.length === 0) return sitting;
  const next = [...kept, ...added];
  const current = order.slice(at).find((id) => kept.includes(id));
  return { ...sitting, order: next, at: current === undefined ? kept.length : next.indexOf(current) };
}

/** Goes on to the next that has no answer. */
export function answered(sitting: Sitting, id: string, verdict: Verdict): Sitting {
  const verdicts = { ...sitting.verdicts, [id]: verdict };
  const said = [...sitting.said.filter((each) => each !== id), id];
  return { ...sitting, verdicts, said, at: nextOpen(sitting.order, verdicts, sitting.order.indexOf(id)) };
}

/** It is open again, and looked at. */
export function takenBack(sitting: Sitting, id: string): Sitting {
  const { [id]: _gone, ...verdicts } = sitting.verdicts;
  return {
    ...sitting,
    verdicts,
    said: sitting.said.filter((each) => each !== id),
    at: Math.max(0, sitting.order.indexOf(id)),
  };
}

export function moved(sitting: Sitting, by: number): Sitting {
  return { ...sitting, at: Math.min(Math.max(0, sitting.at + by), sitting.order.length) };
}

/** What was put off is asked again. */
export function onceMore(sitting: Sitting): Sitting {
  const verdicts = Object.fromEntries(
    Object.entries(sitting.verdicts).filter(([, verdict]) => verdict !== 'later'),
  );
  const said = sitting.said.filter((id) => id in verdicts);
  return { ...sitting, verdicts, said, at: nextOpen(sitting.order, verdicts, -1) };
}

export const countOf = ({ verdicts }: Sitting, wanted: Verdict): number =>
  Object.values(verdicts).filter((verdict) => verdict === wanted).length;

/** The next one without an answer behind `after`, else the first, else the end. */
function nextOpen(order: readonly string[], verdicts: Sitting['verdicts'], after: number): number {
  const isOpen = (id: string): boolean => !(id in verdicts);
  const behind = order.findIndex((id, index) => index > after && isOpen(id));
  if (behind >= 0) return behind;
  const first = order.findIndex(isOpen);
  return first >= 0 ? first : order.length;
}
