// Summary at the end of a review session.
import { Button } from '@mantine/core';
import { Empty } from '../../../components/states.tsx';
import { countOf } from './review-session.ts';
import type { Reviewing } from './use-reviewing.ts';

export function ReviewSummary({ reviewing: { session, again } }: { readonly reviewing: Reviewing }) {
  const [same, different, later] = [
    countOf(session, 'same'),
    countOf(session, 'different'),
    countOf(session, 'later'),
  ];
  const open = session.order.length - session.decided.length;
  return (
    <Empty title={open === 0 && later === 0 ? 'All pairs decided' : 'No more pairs'}>
      {same} same, {different} different, {later} postponed{open === 0 ? '' : `, ${open} open`}.
      {later + open === 0 ? null : (
        <div>
          <Button variant="default" size="xs" mt="sm" onClick={again}>
            Review remaining pairs
          </Button>
        </div>
      )}
    </Empty>
  );
}
