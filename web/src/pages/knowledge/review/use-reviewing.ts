// Review session over the server's pairs: sends verdicts at once, prefetches the next pair, supports undo.
import type { ApiRoute } from '../../../../../src/api/client.ts';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useAction } from '../../../components/action.tsx';
import { inSpace } from '../queries.ts';
import type { SpaceRef } from '../space-ref.ts';
import { useSpaceRef } from '../space-ref.ts';
import { knownAs } from '../labels.ts';
import type { ReviewPair } from './match-reasons.ts';
import { maxPairs } from './review-queries.ts';
import type { ReviewSession, Verdict } from './review-session.ts';
import {
  withVerdict,
  emptySession,
  moved,
  withPostponedReopened,
  reopened,
  withOpenPairs,
} from './review-session.ts';

export interface Reviewing {
  readonly session: ReviewSession;
  /** Null at the end of the queue. */
  readonly current: ReviewPair | null;
  /** Verdict on the current pair in this session. */
  readonly verdict: Verdict | null;
  /** Decided elsewhere, and not in this session. */
  readonly isSettled: boolean;
  readonly next: ReviewPair | null;
  readonly hasMore: boolean;
  readonly isUndoing: boolean;
  readonly answer: (verdict: Verdict) => void;
  readonly move: (by: number) => void;
  /** Undoes the last verdict. */
  readonly undo: () => void;
  readonly again: () => void;
}

interface StateText {
  readonly pair: ReviewPair;
  readonly verdict: Verdict;
}

export function useReviewing(pairs: readonly ReviewPair[]): Reviewing {
  const spaceRef = useSpaceRef();
  const client = useQueryClient();
  const [session, setSession] = useState<ReviewSession>(() =>
    withOpenPairs(
      emptySession,
      pairs.map((pair) => pair.id),
    ),
  );
  const seen = useKnownPairs(pairs);
  useEffect(
    () =>
      setSession((before) =>
        withOpenPairs(
          before,
          pairs.map((pair) => pair.id),
        ),
      ),
    [pairs],
  );

  // Undo waits for the request in flight: before it there is nothing to undo.
  const sending = useRef<Promise<unknown>>(Promise.resolve());
  // Own verdicts, known before the list is refetched.
  const decidedAt = useRef(new Map<string, string>());
  const decide = async (pair: ReviewPair, verdict: Verdict): Promise<void> => {
    const own = decidedAt.current.get(pair.id) ?? '';
    const { decided_at: at } = await inSpace(spaceRef, 'POST /api/v1/knowledge/pairs/:id/verdict', {
      params: { id: pair.id },
      body: { verdict, as_of: own > pair.as_of ? own : pair.as_of },
    });
    if (at !== null) decidedAt.current.set(pair.id, at);
  };
  const send = useAction(
    ({ pair, verdict }: StateText) => {
      const sent = decide(pair, verdict);
      sending.current = sent.catch(() => setSession((before) => reopened(before, pair.id)));
      return sent;
    },
    { stale: ['knowledge'] },
  );
  const undoing = useAction(
    async ({ pair, verdict }: StateText) => {
      await sending.current;
      if (verdict === 'same') await undoMerge(spaceRef, pair);
      // A verdict cannot be removed: the pair becomes postponed, last in the queue of other reviewers.
      if (verdict === 'different') await decide(pair, 'later');
      // Refetch first: the list must contain the pair when it is reopened.
      await client.invalidateQueries({
        queryKey: ['knowledge', 'GET /api/v1/knowledge/pairs' satisfies ApiRoute],
      });
      setSession((before) => reopened(before, pair.id));
    },
    { stale: ['knowledge'], done: (_nothing, { pair, verdict }) => undoneText(pair, verdict) },
  );

  const pairAt = (index: number): ReviewPair | null => seen.get(session.order[index] ?? '') ?? null;
  const current = pairAt(session.at);
  const verdict = (current && session.verdicts[current.id]) ?? null;
  return {
    session,
    current,
    verdict,
    isSettled: current !== null && verdict === null && !pairs.some((pair) => pair.id === current.id),
    next: pairAt(session.at + 1),
    hasMore: pairs.length >= maxPairs,
    isUndoing: undoing.isRunning,
    answer: (chosen) => {
      if (!current) return;
      if (verdict !== null) {
        notifications.show({ message: 'Already decided. Undo the decision first.' });
        return;
      }
      setSession((before) => withVerdict(before, current.id, chosen));
      send.run({ pair: current, verdict: chosen });
    },
    move: (by) => setSession((before) => moved(before, by)),
    undo: () => {
      const last = session.decided.at(-1) ?? '';
      const pair = seen.get(last);
      const sent = session.verdicts[last];
      if (pair && sent && !undoing.isRunning) undoing.run({ pair, verdict: sent });
    },
    again: () => setSession(withPostponedReopened),
  };
}

/** Latest known data of each pair: decided pairs are no longer in the server's list. */
function useKnownPairs(pairs: readonly ReviewPair[]): ReadonlyMap<string, ReviewPair> {
  const seen = useRef(new Map<string, ReviewPair>());
  for (const pair of pairs) seen.current.set(pair.id, pair);
  return seen.current;
}

/** Throws when the merge no longer exists. */
async function undoMerge(spaceRef: SpaceRef, { a, b }: ReviewPair): Promise<void> {
  const { merges } = await inSpace(spaceRef, 'GET /api/v1/knowledge/entities/:id', { params: { id: a.id } });
  const sides = [a.id, b.id];
  const merge = merges.find(
    ({ winner_id: winner, loser_id: loser, undone_at: undone }) =>
      undone === null && sides.includes(winner) && sides.includes(loser),
  );
  if (!merge)
    throw new Error(
      'The merge no longer exists: it was undone, or both entities were merged into a third one.',
    );
  await inSpace(spaceRef, 'POST /api/v1/knowledge/merges/:id/undo', { params: { id: merge.id } });
}

function undoneText({ a, b }: ReviewPair, verdict: Verdict): string {
  if (verdict === 'same') return `Undone: ${knownAs(a)} and ${knownAs(b)} are separate.`;
  return verdict === 'different' ? 'Undone: the pair is open again.' : 'Undone: no longer postponed.';
}
