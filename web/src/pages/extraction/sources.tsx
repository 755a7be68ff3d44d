// Registered sources, each with a button that starts a run.
import type {
  ExtractionRunStarted,
  ExtractionSource,
  ExtractionSources,
} from '../../../../src/api/extraction.ts';
import { Button, Code, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { call, get } from '../../api/client.ts';
import { useAction } from '../../parts/action.tsx';
import { Empty, Shown } from '../../parts/states.tsx';
import { useLocation } from 'wouter';
import { Until } from '../../parts/time.tsx';
import { ActionsHeader, Wide } from '../../parts/wide.tsx';

/** Starts a run of a source and opens its page; `again` retries failed pages. */
export function useStartRun() {
  const [, go] = useLocation();
  return useAction(
    ({ source, again = false }: { readonly source: string; readonly again?: boolean }) =>
      call<ExtractionRunStarted>('POST', `/api/v1/extraction/sources/${source}/runs`, {
        body: again ? { retry_failed: true } : {},
      }),
    {
      stale: ['extraction', 'flow'],
      done: ({ id: run }) => {
        go(`/extraction/runs/${run}`);
        return 'Run queued.';
      },
    },
  );
}

export function useSources() {
  return useQuery({
    queryKey: ['extraction', 'sources'],
    queryFn: ({ signal }) => get<ExtractionSources>('/api/v1/extraction/sources', {}, signal),
  });
}

export function Sources() {
  const query = useSources();
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Sources
      </Title>
      <Shown
        what="the sources"
        query={query}
        isEmpty={({ sources }) => sources.length === 0}
        empty={
          <Empty title="No sources yet">
            Register one to extract on a schedule or on demand: <Code>headworks sources create --help</Code>
          </Empty>
        }
      >
        {({ sources }) => <SourceTable sources={sources} />}
      </Shown>
    </section>
  );
}

function SourceTable({ sources }: { readonly sources: readonly ExtractionSource[] }) {
  const start = useStartRun();
  return (
    <Wide label="Sources">
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Next run</Table.Th>
            <ActionsHeader />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sources.map((source) => (
            <Table.Tr key={source.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Text size="sm" fw={600}>
                  {source.name}
                </Text>
                <Text size="xs" c="dimmed">
                  {source.kind}
                </Text>
              </Table.Td>
              <Table.Td>
                {source.next_run_at === null ? (
                  <Text size="sm" c="dimmed">
                    {source.schedule === null ? 'Manual' : 'Disabled'}
                  </Text>
                ) : (
                  <Until at={source.next_run_at} over="now" />
                )}
                {source.schedule === null ? null : (
                  <Text size="xs" c="dimmed">
                    {source.schedule} (UTC)
                  </Text>
                )}
              </Table.Td>
              <Table.Td ta="right">
                <Button
                  size="compact-xs"
                  variant="default"
                  loading={start.isRunning}
                  onClick={() => start.run({ source: source.id })}
                  aria-label={`Start run of ${source.name}`}
                >
                  Start run
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
