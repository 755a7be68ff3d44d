// The page Flow: the way of the data as a picture, each gate with what it lets through, and what is degraded.
import { Badge, Group, Stack, Text, Title } from '@mantine/core';
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
          <Stack gap="xl">
            <FlowPicture flow={flow} />
            <Dependencies flow={flow} />
          </Stack>
        )}
      </Shown>
    </>
  );
}

const stateWords = { up: 'up', down: 'away', 'not-configured': 'not configured' } as const;
const stateColors = { up: 'teal', down: 'red', 'not-configured': 'gray' } as const;

function Dependencies({ flow }: { readonly flow: FlowAnswer }) {
  return (
    <section>
      <Title order={2} size="h5" mb="xs">
        Stores
      </Title>
      <Group gap="xs">
        {flow.dependencies.map(({ name, state }) => (
          <Badge key={name} variant="dot" tt="none" size="lg" color={stateColors[state]}>
            {name}: {stateWords[state]}
          </Badge>
        ))}
      </Group>
      <Text size="xs" c="dimmed" mt="sm">
        Rates are what this server has counted since it started, <Ago at={flow.counted_since} />.
      </Text>
    </section>
  );
}
