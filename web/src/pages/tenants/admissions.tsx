// All organizations together: how much of the global limit is used, and who got in or not over the last hour.
import { Card, Group, Progress, SimpleGrid, Text, Title } from '@mantine/core';
import { useMemo } from 'react';
import type { TenantsOverviewAnswer } from '../../../../src/http/contract.ts';
import { Chart, type Line } from '../../parts/chart.tsx';
import { Ago } from '../../parts/time.tsx';
import { fullness } from './fullness.ts';

const hourMs = 3_600_000;

export function Admissions({ overview }: { readonly overview: TenantsOverviewAnswer }) {
  const { global_used: used, global_limit: limit, minutes } = overview;
  const { times, lines } = useMemo(() => linesOf(minutes), [minutes]);
  const last = times.at(-1) ?? 0;
  const share = used === null ? 0 : (used / limit) * 100;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Card withBorder component="section">
        <Title order={2} size="h5" mb="xs">
          All together
        </Title>
        <Group align="baseline" gap="xs">
          <Text fz={32} fw={700}>
            {used ?? '–'}
          </Text>
          <Text c="dimmed">of {limit} under way</Text>
        </Group>
        <Progress
          value={share}
          color={fullness(share)}
          size="lg"
          aria-label="Share of the global limit in use"
        />
        <Text size="xs" c="dimmed" mt="sm">
          {overview.waiting > 0 ? `${overview.waiting} wait for a slot in this server. ` : ''}
          An organization without a limit of its own may have {overview.default_limit} under way. What is
          counted over time is what this server saw; it began to count <Ago at={overview.counted_since} />.
        </Text>
      </Card>
      <Card withBorder component="section">
        <Title order={2} size="h5" mb="xs">
          Last hour, by the minute
        </Title>
        <Chart
          label="Requests admitted and refused, by the minute."
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

function linesOf(minutes: TenantsOverviewAnswer['minutes']) {
  const lines: Line[] = [
    { label: 'admitted', color: 'teal', values: minutes.map(({ admitted }) => admitted) },
    { label: 'refused', color: 'red', values: minutes.map(({ refused }) => refused) },
  ];
  return { times: minutes.map(({ at }) => Date.parse(at)), lines };
}
