// A sitting over the server's pairs: answers go out at once, the next pair is there already, the last can be taken back.
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type {
  EntityDetailAnswer,
  EntityMergeAnswer,
  EntityPairAnswer,
} from '../../../../../src/http/contract.ts';
import { get } from '../../../api/client.ts';
import { useAct } from '../../../parts/act.tsx';
import { change } from '../ask.ts';
import type { Place } from '../place.ts';
import { usePlace } from '../place.ts';
import { knownAs } from '../words.ts';
import type { ReviewPair } from './evidence-words.ts';
import { mostPairs } from './review-queries.ts';
import type { Sitting, Verdict } from './sitting.ts';
import { answered, emptySitting, moved, onceMore, takenBack, takenIn } from './sitting.ts';

export interface Reviewing {
  readonly sitting: Sitting;
  /** Null: through with all. */
  readonly current: ReviewPair | null;
  /** What was said of the current one. */
  readonly verdict: Verdict | null;
  /** The current one waits for nobody's answer any more, and has none of ours. */
  readonly isSettled: boolean;
  readonly next: ReviewPair | null;
  readonly hasMore: boolean;
  readonly isUndoing: boolean;
  readonly answer: (verdict: Verdict) => void;
  readonly move: (by: number) => void;
  /** The last answer is taken back. */
  readonly undo: () => void;
  readonly again: () => void;
}

interface Said {
  readonly pair: ReviewPair;
  readonly verdict: Verdict;
}

export function useReviewing(pairs: readonly ReviewPair[]): Reviewing {
  const place = usePlace();
  const client = useQueryClient();
  const [sitting, setSitting] = useState<Sitting>(() =>
    takenIn(
      emptySitting,
      pairs.map((pair) => pair.pair_id),
    ),
  );
  const seen = useSeen(pairs);
  useEffect(
    () =>
      setSitting((before) =>
        takenIn(
          before,
          pairs.map((pair) => pair.pair_id),
        ),
      ),
    [pairs],
  );

  // Taking back waits for what is under way: else there would be nothing to take back yet.
  const sending = useRef<Promise<unknown>>(Promise.resolve());
  // What one said oneself is known to oneself, also before the list is read again.
  const decidedAt = useRef(new Map<string, string>());
  const decide = async (pair: ReviewPair, verdict: Verdict): Promise<void> => {
    const own = decidedAt.current.get(pair.pair_id) ?? '';
    const { decided_at: at } = await change<EntityPairAnswer>(
      place,
      'POST',
      `/pairs/${pair.pair_id}/verdict`,
      { verdict, as_of: own > pair.as_of ? own : pair.as_of },
    );
    if (at !== null) decidedAt.current.set(pair.pair_id, at);
  };
  const send = useAct(
    ({ pair, verdict }: Said) => {
      const sent = decide(pair, verdict);
      sending.current = sent.catch(() => setSitting((before) => takenBack(before, pair.pair_id)));
      return sent;
    },
    { stale: ['knowledge'] },
  );
  const undoing = useAct(
    async ({ pair, verdict }: Said) => {
      await sending.current;
      if (verdict === 'same') await undoMerge(place, pair);
      // There is no "never asked": it comes back as one that was put off, last in the queue for others.
      if (verdict === 'different') await decide(pair, 'later');
      // Read before it is open again: else the list would not know it.
      await client.invalidateQueries({ queryKey: ['knowledge', '/pairs'] });
      setSitting((before) => takenBack(before, pair.pair_id));
    },
    { stale: ['knowledge'], done: (_nothing, { pair, verdict }) => undoneWords(pair, verdict) },
  );

  const pairAt = (index: number): ReviewPair | null => seen.get(sitting.order[index] ?? '') ?? null;
  const current = pairAt(sitting.at);
  const verdict = (current && sitting.verdicts[current.pair_id]) ?? null;
  return {
    sitting,
    current,
    verdict,
    isSettled:
      current !== null && verdict === null && !pairs.some((pair) => pair.pair_id === current.pair_id),
    next: pairAt(sitting.at + 1),
    hasMore: pairs.length >= mostPairs,
    isUndoing: undoing.isRunning,
    answer: (said) => {
      if (!current) return;
      if (verdict !== null) {
        notifications.show({ message: 'This one is answered. Take that back first.' });
        return;
      }
      setSitting((before) => answered(before, current.pair_id, said));
      send.run({ pair: current, verdict: said });
    },
    move: (by) => setSitting((before) => moved(before, by)),
    undo: () => {
      const last = sitting.said.at(-1) ?? '';
      const pair = seen.get(last);
      const said = sitting.verdicts[last];
      if (pair && said && !undoing.isRunning) undoing.run({ pair, verdict: said });
    },
    again: () => setSitting(onceMore),
  };
}

/** Pairs as they were last seen: an answered one is no longer in the server's list. */
function useSeen(pairs: readonly ReviewPair[]): ReadonlyMap<string, ReviewPair> {
  const seen = useRef(new Map<string, ReviewPair>());
  for (const pair of pairs) seen.current.set(pair.pair_id, pair);
  return seen.current;
}

/** Fails when there is nothing to take back any more. */
async function undoMerge(place: Place, { a, b }: ReviewPair): Promise<void> {
  const { merges } = await get<EntityDetailAnswer>(`/api/v1/knowledge/entities/${a.entity_id}`, { ...place });
  const sides = [a.entity_id, b.entity_id];
  const merge = merges.find(
    ({ winner_id: winner, loser_id: loser, undone_at: undone }) =>
      undone === null && sides.includes(winner) && sides.includes(loser),
  );
  if (!merge)
    throw new Error(
      'This merge is no longer there: it was undone, or both became part of a third meanwhile.',
    );
  await change<EntityMergeAnswer>(place, 'POST', `/merges/${merge.merge_id}/undo`);
}

function undoneWords({ a, b }: ReviewPair, verdict: Verdict): string {
  if (verdict === 'same') return `${knownAs(a)} and ${knownAs(b)} are two again.`;
  return verdict === 'different' ? 'It waits for an answer again.' : 'It is no longer put off here.';
}
