// Executions of one organization or of all, newest first.
import type { Execution, Executions } from '../../../../src/api/executions.ts';
import { Badge, Button, Table, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { call, get } from '../../api/client.ts';
import { useAction } from '../../parts/action.tsx';
import { LongText } from '../../parts/long-text.tsx';
import { useIsNarrow } from '../../parts/narrow.ts';
import { Empty, Failed, Loading } from '../../parts/states.tsx';
import { Ago, Took } from '../../parts/time.tsx';
import { ActionsHeader, Wide } from '../../parts/wide.tsx';
import { toneColor, type Tone } from '../../theme.ts';
import { ShowMore } from '../../parts/show-more.tsx';

const tones: Readonly<Record<Execution['status'], Tone>> = {
  queued: 'idle',
  executing: 'busy',
  completed: 'good',
  error: 'bad',
  stopped: 'warning',
};

export function Executions({ organization = null }: { readonly organization?: string | null }) {
  const query = useInfiniteQuery({
    queryKey: ['tenants', 'executions', organization],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      get<Executions>('/api/v1/executions', { organization, after: pageParam, limit: 25 }, signal),
    getNextPageParam: ({ next }) => next,
    refetchInterval: 10_000,
  });
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Executions
      </Title>
      {query.data === undefined ? (
        query.isError ? (
          <Failed what="executions" error={query.error} />
        ) : (
          <Loading what="executions" />
        )
      ) : (
        <ExecutionTable
          executions={query.data.pages.flatMap((page) => page.executions)}
          ofAll={organization === null}
        />
      )}
      <ShowMore of={query} mt="sm" />
    </section>
  );
}

function ExecutionTable({
  executions,
  ofAll,
}: {
  readonly executions: readonly Execution[];
  readonly ofAll: boolean;
}) {
  const isNarrow = useIsNarrow();
  if (executions.length === 0) return <Empty title="No executions yet" />;
  return (
    <Wide label="Executions">
      <Table verticalSpacing={4} {...(isNarrow ? { horizontalSpacing: 6 } : { miw: 560 })}>
        <Table.Thead>
          <Table.Tr>
            {isNarrow ? null : <Table.Th>When</Table.Th>}
            {ofAll && !isNarrow ? <Table.Th>Organization</Table.Th> : null}
            <Table.Th>Deployment</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th ta="right">Duration</Table.Th>
            {isNarrow ? null : <ActionsHeader />}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {executions.map((execution) => (
            <ExecutionRow key={execution.id} execution={execution} ofAll={ofAll} isNarrow={isNarrow} />
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

function ExecutionRow({
  execution,
  ofAll,
  isNarrow,
}: {
  readonly execution: Execution;
  readonly ofAll: boolean;
  readonly isNarrow: boolean;
}) {
  const stop = execution.ended_at === null ? <StopButton execution={execution} /> : null;
  return (
    <Table.Tr>
      {isNarrow ? null : (
        <Table.Td>
          <Ago at={execution.accepted_at} />
        </Table.Td>
      )}
      {ofAll && !isNarrow ? (
        <Table.Td miw={120} style={{ overflowWrap: 'anywhere' }}>
          {execution.organization_name}
        </Table.Td>
      ) : null}
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {execution.deployment_name}
        {isNarrow ? (
          <Text size="xs" c="dimmed">
            {ofAll ? `${execution.organization_name}, ` : ''}
            <Ago at={execution.accepted_at} />
          </Text>
        ) : null}
      </Table.Td>
      <Table.Td>
        <Badge variant="light" tt="none" color={toneColor[tones[execution.status]]}>
          {execution.status}
        </Badge>
        {execution.error === null ? null : (
          <Text size="xs" c="dimmed" maw={isNarrow ? 140 : 320}>
            <LongText text={execution.error.message} most={isNarrow ? 60 : 150} />
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right">
        <Took from={execution.accepted_at} to={execution.ended_at} />
        {isNarrow ? <div>{stop}</div> : null}
      </Table.Td>
      {isNarrow ? null : <Table.Td ta="right">{stop}</Table.Td>}
    </Table.Tr>
  );
}

function StopButton({ execution }: { readonly execution: Execution }) {
  const stop = useAction((id: string) => call('POST', `/api/v1/executions/${id}/stop`), {
    stale: ['tenants'],
    done: () => 'Execution stopped.',
  });
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={stop.isRunning}
      onClick={() => stop.run(execution.id)}
      aria-label={`Stop execution of ${execution.deployment_name}`}
    >
      Stop
    </Button>
  );
}
