// Registered sources, each with a button that starts a run.
import type { ExtractionSource } from '../../../../src/api/extraction.ts';
import { Button, Code, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { useLocation } from 'wouter';
import { Until } from '../../components/time.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';

/** Starts a run of a source and opens its page; `again` retries failed pages. */
export function useStartRun() {
  const [, go] = useLocation();
  return useAction(
    ({ source, again = false }: { readonly source: string; readonly again?: boolean }) =>
      api('POST /api/v1/extraction/sources/:id/runs', {
        params: { id: source },
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
    queryFn: ({ signal }) => api('GET /api/v1/extraction/sources', { signal }),
  });
}

export function Sources() {
  const query = useSources();
  const start = useStartRun();
  const columns: readonly Column<ExtractionSource>[] = [
    {
      title: 'Name',
      cell: ({ name, kind }) => (
        <>
          <Text size="sm" fw={600}>
            {name}
          </Text>
          <Detail>{kind}</Detail>
        </>
      ),
    },
    { title: 'Next run', cell: (source) => <NextRun source={source} /> },
    {
      title: 'Actions',
      kind: 'actions',
      cell: ({ id, name }) => (
        <Button
          size="compact-xs"
          variant="default"
          loading={start.isRunning}
          onClick={() => start.run({ source: id })}
          aria-label={`Start run of ${name}`}
        >
          Start run
        </Button>
      ),
    },
  ];
  return (
    <Section title="Sources">
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
        {({ sources }) => (
          <DataTable label="Sources" columns={columns} rows={sources} keyOf={({ id }) => id} />
        )}
      </Shown>
    </Section>
  );
}

function NextRun({ source: { next_run_at: at, schedule } }: { readonly source: ExtractionSource }) {
  return (
    <>
      {at === null ? schedule === null ? 'Manual' : 'Disabled' : <Until at={at} over="now" />}
      {schedule === null ? null : <Detail>{schedule} (UTC)</Detail>}
    </>
  );
}
