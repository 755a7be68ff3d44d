// Review queue: pairs of possible duplicates, decided with buttons or keys.
import { Code, Progress, Stack, Text } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Empty, Shown } from '../../../components/states.tsx';
import { useRead } from '../queries.ts';
import type { ReviewPair } from './match-reasons.ts';
import { maxPairs } from './review-queries.ts';
import { PairView, usePairAhead } from './pair-view.tsx';
import { ReviewSummary } from './review-summary.tsx';
import type { Reviewing } from './use-reviewing.ts';
import { useReviewing } from './use-reviewing.ts';
import { VerdictBar } from './verdict-bar.tsx';

export function ReviewPage() {
  const query = useRead('GET /api/v1/knowledge/pairs', { query: { limit: maxPairs } });
  return (
    <Shown what="the pairs" query={query}>
      {({ pairs }) => <Queue pairs={pairs} />}
    </Shown>
  );
}

function Queue({ pairs }: { readonly pairs: readonly ReviewPair[] }) {
  const reviewing = useReviewing(pairs);
  const { session, answer, move, undo } = reviewing;
  useHotkeys([
    ['s', () => answer('same')],
    ['d', () => answer('different')],
    ['l', () => answer('later')],
    ['u', undo],
    ['ArrowLeft', () => move(-1)],
    ['ArrowRight', () => move(1)],
  ]);
  if (session.order.length === 0)
    return (
      <Empty title="No pairs to review">
        Entities that may be the same appear here when neither their context nor a model decides. On the
        command line: <Code>headworks entities review</Code>.
      </Empty>
    );
  return (
    <Stack gap="md">
      <ReviewProgress reviewing={reviewing} />
      <VerdictBar reviewing={reviewing} />
      <Current reviewing={reviewing} pairs={pairs} />
    </Stack>
  );
}

function ReviewProgress({ reviewing: { session, hasMore } }: { readonly reviewing: Reviewing }) {
  const { order, at, decided } = session;
  const total = `${order.length}${hasMore ? '+' : ''}`;
  return (
    <div>
      <Text size="sm" fw={600} role="status">
        {at < order.length ? `${at + 1} of ${total}` : `Finished ${total}`}
        <Text span size="sm" c="dimmed" fw={400}>
          {decided.length === 0 ? '' : `, ${decided.length} decided`}
        </Text>
      </Text>
      <Progress value={(decided.length / order.length) * 100} size="xs" mt={4} aria-label="Decided pairs" />
    </div>
  );
}

function Current({
  reviewing,
  pairs,
}: {
  readonly reviewing: Reviewing;
  readonly pairs: readonly ReviewPair[];
}) {
  const { current, next, verdict, isSettled } = reviewing;
  usePairAhead(next);
  return current === null ? (
    <ReviewSummary reviewing={reviewing} />
  ) : (
    <PairView pair={current} all={pairs} verdict={verdict} isSettled={isSettled} />
  );
}
