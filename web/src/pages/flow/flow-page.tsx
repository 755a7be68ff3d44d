// Page Data flow: a diagram, each part with its throughput, limit and degradations.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { PageTitle, Shown } from '../../components/states.tsx';
import { Ago } from '../../components/time.tsx';
import { FlowDiagram } from './flow-diagram.tsx';

export default function FlowPage() {
  const query = useQuery({
    queryKey: ['flow'],
    queryFn: ({ signal }) => api('GET /api/v1/overview/flow', { signal }),
    refetchInterval: 5_000,
  });
  return (
    <>
      <PageTitle>Data flow</PageTitle>
      <Shown what="the data flow" query={query}>
        {(flow) => (
          <>
            <FlowDiagram flow={flow} />
            <Text size="xs" c="dimmed" mt="lg">
              Per-minute figures cover the last 60 seconds. Bars show the last 30 minutes; failed or rejected
              requests are red. Both are counted by this server, since its start{' '}
              <Ago at={flow.counted_since} />.
            </Text>
          </>
        )}
      </Shown>
    </>
  );
}
