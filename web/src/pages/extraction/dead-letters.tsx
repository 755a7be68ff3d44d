// Failed pages with their cause, and a button to retry them.
import type { ExtractionRun, VaultSummary } from '../../../../src/api/extraction.ts';
import { Button, Code, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Ago } from '../../components/time.tsx';
import { isOpen, noFailures } from './run-facts.ts';
import { useSources, useStartRun } from './sources.tsx';

export function useVault(run: string) {
  return useQuery({
    queryKey: ['extraction', 'vault', run],
    queryFn: ({ signal }) => api('GET /api/v1/extraction/runs/:id/vault', { params: { id: run }, signal }),
  });
}

export function DeadLetters({ run }: { readonly run: ExtractionRun }) {
  const query = useVault(run.id);
  return (
    <Section
      title="Failed pages"
      right={(query.data?.dead_letters.length ?? 0) > 0 ? <RetryButton run={run} /> : null}
    >
      <Shown
        what="the vault"
        query={query}
        isEmpty={({ dead_letters: letters }) => letters.length === 0}
        empty={<Empty {...noFailures(run)} />}
      >
        {({ dead_letters: letters }) => (
          <DataTable
            label="Failed pages"
            columns={columns}
            rows={letters}
            keyOf={({ session, type, page }) => `${session} ${type} ${page}`}
          />
        )}
      </Shown>
    </Section>
  );
}

/** Runs started by the CLI have no registered source: the same command retries them. */
function RetryButton({ run }: { readonly run: ExtractionRun }) {
  const sources = useSources();
  const start = useStartRun();
  const source = sources.data?.sources.find(({ name }) => name === run.source);
  if (source === undefined)
    return (
      <Text size="sm" c="dimmed">
        Retry with <Code>headworks extract … --retry-failed</Code>
      </Text>
    );
  return (
    <Button
      size="xs"
      disabled={isOpen(run)}
      loading={start.isRunning}
      onClick={() => start.run({ source: source.id, again: true })}
    >
      Retry failed pages
    </Button>
  );
}

const columns: readonly Column<VaultSummary['dead_letters'][number]>[] = [
  {
    title: 'Type',
    cell: ({ type, page, at }) => (
      <>
        {type}
        <Detail isNarrowOnly>
          {page}, <Ago at={at} />
        </Detail>
      </>
    ),
  },
  { title: 'Page', isWideOnly: true, cell: ({ page }) => page },
  {
    title: 'Cause',
    cell: ({ cause, message }) => (
      <>
        <StateBadge tone="warning">{cause}</StateBadge>
        <Detail>{message}</Detail>
      </>
    ),
  },
  { title: 'Failed', isWideOnly: true, cell: ({ at }) => <Ago at={at} /> },
];
