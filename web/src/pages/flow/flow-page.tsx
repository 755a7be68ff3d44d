// The page Flow: the way of the data as a picture, each gate with what it lets through, and what is degraded.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { FlowAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';
import { PageTitle, Shown } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { FlowPicture } from './flow-picture.tsx';

export default function FlowPage() {
  const query = useQuery({
    queryKey: ['flow'],
    queryFn: ({ signal }) => get<FlowAnswer>('/api/v1/overview/flow', {}, signal),
    refetchInterval: 5_000,
  });
  return (
    <>
      <PageTitle>Flow</PageTitle>
      <Shown what="the flow" query={query}>
        {(flow) => (
          <>
            <FlowPicture flow={flow} />
            <Text size="xs" c="dimmed" mt="lg">
              Each gate leads to its page. What happened in a minute happened in the last 60 seconds. Bars are
              the last half hour; in red what failed or was refused. Both are what this server saw; it began
              to count <Ago at={flow.counted_since} />.
            </Text>
          </>
        )}
      </Shown>
    </>
  );
}
