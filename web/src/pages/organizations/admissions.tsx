// Global concurrency, and admitted and rejected requests of the last hour.
import type { OrganizationsOverview } from '../../../../src/api/overview.ts';
import { Card, Group, Progress, SimpleGrid, Text, Title } from '@mantine/core';
import { useMemo } from 'react';
import { Chart, type Line } from '../../components/chart.tsx';
import { Ago } from '../../components/time.tsx';
import { fullness } from '../../theme.ts';

const hourMs = 3_600_000;

export function Admissions({ overview }: { readonly overview: OrganizationsOverview }) {
  const { global_used: used, global_limit: limit, minutes } = overview;
  const { times, lines } = useMemo(() => linesOf(minutes), [minutes]);
  const last = times.at(-1) ?? 0;
  const share = used === null ? 0 : used / limit;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Card withBorder component="section">
        <Title order={2} size="h5" mb="xs">
          Global concurrency
        </Title>
        <Group align="baseline" gap="xs">
          <Text fz={32} fw={700}>
            {used ?? '–'}
          </Text>
          <Text c="dimmed">of {limit} in flight</Text>
        </Group>
        <Progress
          value={share * 100}
          color={fullness(share)}
          size="lg"
          aria-label="Used share of the global limit"
        />
        <Text size="xs" c="dimmed" mt="sm">
          {overview.queued > 0 ? `${overview.queued} queued on this server. ` : ''}
          The default limit of an organization is {overview.default_limit}. History is counted by this server
          since its start <Ago at={overview.counted_since} />.
        </Text>
      </Card>
      <Card withBorder component="section">
        <Title order={2} size="h5" mb="xs">
          Requests per minute, last hour
        </Title>
        <Chart
          label="Admitted and rejected requests per minute."
          times={times}
          lines={lines}
          from={last - hourMs}
          to={last}
          height={130}
        />
      </Card>
    </SimpleGrid>
  );
}

function linesOf(minutes: OrganizationsOverview['minutes']) {
  const lines: Line[] = [
    { label: 'admitted', color: 'teal', values: minutes.map(({ admitted }) => admitted) },
    { label: 'rejected', color: 'red', values: minutes.map(({ rejected }) => rejected) },
  ];
  return { times: minutes.map(({ at }) => Date.parse(at)), lines };
}
