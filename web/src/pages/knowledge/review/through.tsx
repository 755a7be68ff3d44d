// The end of a sitting: what was said, and what was put off.
import { Button } from '@mantine/core';
import { Empty } from '../../../parts/states.tsx';
import { countOf } from './sitting.ts';
import type { Reviewing } from './use-reviewing.ts';

export function Through({ reviewing: { sitting, again } }: { readonly reviewing: Reviewing }) {
  const [same, different, later] = [
    countOf(sitting, 'same'),
    countOf(sitting, 'different'),
    countOf(sitting, 'later'),
  ];
  const open = sitting.order.length - sitting.said.length;
  return (
    <Empty title={open === 0 && later === 0 ? 'Everything is answered' : 'You are through'}>
      {same} same, {different} different, {later} put off{open === 0 ? '' : `, ${open} without an answer`}.
      {later + open === 0 ? null : (
        <div>
          <Button variant="default" size="xs" mt="sm" onClick={again}>
            Look at those again
          </Button>
        </div>
      )}
    </Empty>
  );
}
