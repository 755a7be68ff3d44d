// One run: its types, its pace and what slowed it down, the pages that did not come.
import {
  Alert,
  Anchor,
  Badge,
  Button,
  Group,
  Progress,
  ScrollArea,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { ExtractionRunAnswer } from '../../../../src/http/contract.ts';
import { call, get } from '../../api/client.ts';
import { useAct } from '../../parts/act.tsx';
import { PageTitle, Shown } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { toneColor, type Tone } from '../../theme.ts';
import { DeadLetters } from './dead-letters.tsx';
import { Pace } from './pace.tsx';
import { isOpen, itemsOf, percentOf, runTone } from './run-facts.ts';

export function RunDetail({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['extraction', 'run', id],
    queryFn: ({ signal }) => get<ExtractionRunAnswer>(`/api/v1/extraction/runs/${id}`, {}, signal),
    refetchInterval: 5_000,
  });
  return (
    <>
      <Anchor component={Link} href="/extraction" size="sm">
        All runs
      </Anchor>
      <Shown what="the run" query={query}>
        {(run) => <Run run={run} />}
      </Shown>
    </>
  );
}

function Run({ run }: { readonly run: ExtractionRunAnswer }) {
  const stop = useAct(() => call('POST', `/api/v1/extraction/runs/${run.id}/stop`), {
    stale: ['extraction'],
    done: () => 'The run is told to stop; what it has is kept.',
  });
  return (
    <Stack gap="lg">
      <PageTitle
        right={
          <Group gap="xs">
            <Button size="xs" variant="default" component={Link} href={`/extraction/runs/${run.id}/vault`}>
              Look into the vault
            </Button>
            {isOpen(run) ? (
              <Button size="xs" color="red" loading={stop.isRunning} onClick={() => stop.run(undefined)}>
                Stop
              </Button>
            ) : null}
          </Group>
        }
      >
        {run.source}
      </PageTitle>
      <Group gap="lg">
        <Badge variant="light" tt="none" size="lg" color={toneColor[runTone[run.state]]}>
          {run.state}
        </Badge>
        <Text size="sm">{itemsOf(run)} items</Text>
        <Text size="sm">
          {run.calls} calls, {run.refusals} refused
        </Text>
        {run.multiplier > 1 ? <Text size="sm">slowed down {run.multiplier.toFixed(1)} times</Text> : null}
        <Text size="sm" c="dimmed">
          began <Ago at={run.started_at} />
        </Text>
      </Group>
      {run.message === null ? null : (
        <Alert color={run.state === 'failed' ? 'red' : 'gray'} p="xs">
          {run.message}
        </Alert>
      )}
      <Types run={run} />
      <Pace run={run} />
      <DeadLetters run={run} />
    </Stack>
  );
}

const typeTone: Readonly<Record<ExtractionRunAnswer['types'][number]['status'], Tone>> = {
  pending: 'idle',
  running: 'busy',
  completed: 'good',
  incomplete: 'warning',
};

function Types({ run }: { readonly run: ExtractionRunAnswer }) {
  if (run.types.length === 0) return <Text c="dimmed">It has not begun with any type yet.</Text>;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Types
      </Title>
      <ScrollArea type="auto" viewportProps={{ tabIndex: 0, 'aria-label': 'Types' }}>
        <Table verticalSpacing={4} miw={420}>
          <Table.Tbody>
            {run.types.map((type) => (
              <Table.Tr key={type.type}>
                <Table.Th fw={400}>{type.type}</Table.Th>
                <Table.Td>
                  <Badge variant="light" tt="none" color={toneColor[typeTone[type.status]]}>
                    {type.status}
                  </Badge>
                </Table.Td>
                <Table.Td ta="right">
                  {type.items}
                  {type.total === null ? '' : ` of ${type.total}`}
                </Table.Td>
                <Table.Td w="40%">
                  <Progress
                    value={type.status === 'completed' ? 100 : percentOf(type.items, type.total)}
                    color={toneColor[typeTone[type.status]]}
                    aria-label={`Progress of ${type.type}`}
                  />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
    </section>
  );
}
