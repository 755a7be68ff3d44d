// One model: how it did over time, why it has its place, its last attempts; cool, warm, enable.
import {
  Anchor,
  Badge,
  Button,
  Card,
  Group,
  List,
  ScrollArea,
  Select,
  SimpleGrid,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type {
  ModelAnswer,
  ModelExplanationAnswer,
  ModelHistoryAnswer,
} from '../../../../src/http/contract.ts';
import { call, get } from '../../api/client.ts';
import { useAct } from '../../parts/act.tsx';
import { Chart, type Line } from '../../parts/chart.tsx';
import { Empty, PageTitle, Shown } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { coolingCause, ModelState, percent, seconds } from './model-state.tsx';

export function ModelDetail({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['models', 'explain', id],
    queryFn: ({ signal }) => get<ModelExplanationAnswer>(`/api/v1/models/${id}/explain`, {}, signal),
    refetchInterval: 10_000,
  });
  return (
    <>
      <Anchor component={Link} href="/models" size="sm">
        All models
      </Anchor>
      <Shown what="the model" query={query}>
        {(explanation) => <Explained explanation={explanation} />}
      </Shown>
    </>
  );
}

function Explained({ explanation }: { readonly explanation: ModelExplanationAnswer }) {
  const { model } = explanation;
  const cause = coolingCause(model);
  return (
    <Stack gap="lg">
      <PageTitle right={<Actions model={model} />}>{model.name}</PageTitle>
      <Group gap="sm">
        <ModelState model={model} />
        {cause === null ? null : <Text size="sm">{cause}</Text>}
        {model.needs === null ? null : <Text size="sm">{model.needs}</Text>}
      </Group>
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure name="place now" value={explanation.place === null ? '–' : String(explanation.place)} />
        <Figure name="score" value={model.effective_reliability_score.toFixed(2)} />
        <Figure
          name="success"
          value={model.request_count === 0 ? '–' : `${percent(model.success_rate)} of ${model.request_count}`}
        />
        <Figure name="answers in" value={seconds(model.average_response_time)} />
      </SimpleGrid>
      <History id={model.id} />
      <section>
        <Title order={2} size="h4" mb="xs">
          Why this place
        </Title>
        <Text size="sm" mb="xs">
          {explanation.place_reason}
        </Text>
        <List size="sm" spacing={2}>
          {explanation.steps.map((step) => (
            <List.Item key={step}>{step}</List.Item>
          ))}
        </List>
      </section>
      <Attempts attempts={explanation.recent_attempts} />
    </Stack>
  );
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <Card withBorder padding="sm">
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fw={600}>{value}</Text>
    </Card>
  );
}

function Actions({ model }: { readonly model: ModelAnswer }) {
  const done = (): string => `${model.name}: done.`;
  const cool = useAct(
    (amount: number) =>
      call('PATCH', `/api/v1/models/${model.id}/availability`, {
        query: {
          retry_after_seconds: amount,
          ...(amount > 0 ? { reason: 'by hand, in the dashboard' } : {}),
        },
      }),
    { stale: ['models'], done },
  );
  const enable = useAct(
    (isActive: boolean) =>
      call('PATCH', `/api/v1/models/${model.id}/active`, { body: { is_active: isActive } }),
    { stale: ['models'], done },
  );
  return (
    <Group gap="xs">
      {model.cooldowns.length > 0 ? (
        <Button size="xs" loading={cool.isRunning} onClick={() => cool.run(0)}>
          Ask it again now
        </Button>
      ) : (
        <Button size="xs" variant="default" loading={cool.isRunning} onClick={() => cool.run(600)}>
          Leave it alone for 10 min
        </Button>
      )}
      <Button
        size="xs"
        variant="default"
        loading={enable.isRunning}
        onClick={() => enable.run(!model.is_active)}
      >
        {model.is_active ? 'Disable' : 'Enable'}
      </Button>
    </Group>
  );
}

const spans = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last day' },
  { value: '168', label: 'Last week' },
];

function History({ id }: { readonly id: number }) {
  const [hours, setHours] = useState('24');
  const query = useQuery({
    queryKey: ['models', 'history', id, hours],
    queryFn: ({ signal }) => get<ModelHistoryAnswer>(`/api/v1/models/${id}/history`, { hours }, signal),
    refetchInterval: 30_000,
  });
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4">
          Over time
        </Title>
        <Select
          size="xs"
          w={130}
          aria-label="How far back"
          data={spans}
          value={hours}
          allowDeselect={false}
          onChange={(value) => setHours(value ?? '24')}
        />
      </Group>
      <Shown
        what="its history"
        query={query}
        isEmpty={({ stretches }) => stretches.length === 0}
        empty={<Empty title="It was not asked in this time" />}
      >
        {(history) => <HistoryCharts history={history} />}
      </Shown>
    </section>
  );
}

function HistoryCharts({ history }: { readonly history: ModelHistoryAnswer }) {
  const { times, reliability, latency } = useMemo(() => linesOf(history), [history]);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Chart label="Share of requests that succeeded, over time." times={times} lines={reliability} />
      <Chart label="Seconds until it answered, over time." times={times} lines={latency} />
    </SimpleGrid>
  );
}

function linesOf({ stretches }: ModelHistoryAnswer) {
  const times = stretches.map(({ at }) => Date.parse(at));
  const reliability: Line[] = [
    {
      label: 'success, %',
      color: 'teal',
      values: stretches.map(({ requests, successes }) =>
        requests === 0 ? null : (successes / requests) * 100,
      ),
    },
    { label: 'requests', color: 'gray', isSecond: true, values: stretches.map(({ requests }) => requests) },
  ];
  const latency: Line[] = [
    {
      label: 'seconds',
      color: 'blue',
      values: stretches.map(({ successes, average_seconds: average }) => (successes === 0 ? null : average)),
    },
  ];
  return { times, reliability, latency };
}

function Attempts({ attempts }: { readonly attempts: ModelExplanationAnswer['recent_attempts'] }) {
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Last attempts
      </Title>
      {attempts.length === 0 ? (
        <Empty title="It was never asked" />
      ) : (
        <ScrollArea type="auto" viewportProps={{ tabIndex: 0, 'aria-label': 'Last attempts' }}>
          <Table verticalSpacing={4} miw={560}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th>Outcome</Table.Th>
                <Table.Th ta="right">Status</Table.Th>
                <Table.Th ta="right">Took</Table.Th>
                <Table.Th ta="right">Tokens</Table.Th>
                <Table.Th>Caller</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {attempts.map((attempt) => (
                <Table.Tr key={`${attempt.request_id} ${attempt.at}`}>
                  <Table.Td>
                    <Ago at={attempt.at} />
                  </Table.Td>
                  <Table.Td>
                    <Badge
                      variant="light"
                      tt="none"
                      color={attempt.outcome === 'success' ? 'teal' : 'orange'}
                    >
                      {attempt.outcome}
                    </Badge>
                  </Table.Td>
                  <Table.Td ta="right">{attempt.status ?? '–'}</Table.Td>
                  <Table.Td ta="right">{Math.round(attempt.duration_ms)} ms</Table.Td>
                  <Table.Td ta="right">{attempt.prompt_tokens + attempt.completion_tokens}</Table.Td>
                  <Table.Td>{attempt.caller}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
    </section>
  );
}
