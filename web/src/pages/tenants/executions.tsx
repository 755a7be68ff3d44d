// Executions of an organization, newest first.
import { Badge, Button, ScrollArea, Table, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ExecutionAnswer, ExecutionsAnswer } from '../../../../src/http/contract.ts';
import { call, get } from '../../api/client.ts';
import { useAct } from '../../parts/act.tsx';
import { Empty, Failed, Loading } from '../../parts/states.tsx';
import { Ago, durationText } from '../../parts/time.tsx';
import { toneColor, type Tone } from '../../theme.ts';

const tones: Readonly<Record<ExecutionAnswer['status'], Tone>> = {
  queued: 'idle',
  executing: 'busy',
  completed: 'good',
  error: 'bad',
  stopped: 'warning',
};

export function Executions({ organization }: { readonly organization: string }) {
  const query = useInfiniteQuery({
    queryKey: ['tenants', 'executions', organization],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      get<ExecutionsAnswer>('/api/v1/executions', { organization, before: pageParam, limit: 25 }, signal),
    getNextPageParam: ({ next }) => next,
  });
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Executions
      </Title>
      {query.data === undefined ? (
        query.isError ? (
          <Failed what="its executions" error={query.error} />
        ) : (
          <Loading what="its executions" />
        )
      ) : (
        <ExecutionTable executions={query.data.pages.flatMap((page) => page.executions)} />
      )}
      {query.hasNextPage ? (
        <Button
          mt="sm"
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show more
        </Button>
      ) : null}
    </section>
  );
}

function ExecutionTable({ executions }: { readonly executions: readonly ExecutionAnswer[] }) {
  const stop = useAct((id: string) => call('POST', `/api/v1/executions/${id}/stop`), {
    stale: ['tenants'],
    done: () => 'The execution is stopped.',
  });
  if (executions.length === 0) return <Empty title="It has called nothing yet" />;
  return (
    <ScrollArea type="auto" viewportProps={{ tabIndex: 0, 'aria-label': 'Executions' }}>
      <Table verticalSpacing={4} miw={560}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Deployment</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th ta="right">Took</Table.Th>
            <Table.Th aria-label="Actions" />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {executions.map((execution) => (
            <Table.Tr key={execution.id}>
              <Table.Td>
                <Ago at={execution.accepted_at} />
              </Table.Td>
              <Table.Td>{execution.deployment_name}</Table.Td>
              <Table.Td>
                <Badge variant="light" tt="none" color={toneColor[tones[execution.status]]}>
                  {execution.status}
                </Badge>
                {execution.error === null ? null : (
                  <Text size="xs" c="dimmed" maw={320} truncate="end" title={execution.error.message}>
                    {execution.error.message}
                  </Text>
                )}
              </Table.Td>
              <Table.Td ta="right">{tookText(execution)}</Table.Td>
              <Table.Td ta="right">
                {execution.ended_at === null ? (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={stop.isRunning}
                    onClick={() => stop.run(execution.id)}
                  >
                    Stop
                  </Button>
                ) : null}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

function tookText({ accepted_at: from, ended_at: to }: ExecutionAnswer): string {
  if (to === null) return '–';
  const ms = Date.parse(to) - Date.parse(from);
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : durationText(ms);
}
