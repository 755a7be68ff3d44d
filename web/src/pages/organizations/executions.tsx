// Executions of one organization or of all, newest first.
import type { Execution } from '../../../../src/api/deployments.ts';
import { Button, Code } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useAction } from '../../components/action.tsx';
import { LongText } from '../../components/long-text.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Ago, Took } from '../../components/time.tsx';
import type { Tone } from '../../theme.ts';

const tones: Readonly<Record<Execution['state'], Tone>> = {
  queued: 'idle',
  running: 'busy',
  completed: 'good',
  failed: 'bad',
  canceled: 'warning',
};

export function Executions({ organization = null }: { readonly organization?: string | null }) {
  const query = useInfiniteQuery({
    queryKey: ['organizations', 'executions', organization],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api('GET /api/v1/executions', {
        query: { organization: organization ?? undefined, after: pageParam, limit: 25 },
        signal,
      }),
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages }) => pages.flatMap(({ executions }) => executions),
    refetchInterval: 10_000,
  });
  return (
    <Section title="Executions">
      <Shown
        what="the executions"
        query={query}
        isEmpty={(executions) => executions.length === 0}
        empty={
          <Empty title="No executions yet">
            Call a deployment with an API key of its organization: <Code>headworks deployments list</Code>
          </Empty>
        }
      >
        {(executions) => (
          <DataTable
            label="Executions"
            columns={
              organization === null ? columns : columns.filter((column) => column !== organizationColumn)
            }
            rows={executions}
            keyOf={({ id }) => id}
          />
        )}
      </Shown>
      <ShowMore of={query} />
    </Section>
  );
}

const organizationColumn: Column<Execution> = {
  title: 'Organization',
  isWideOnly: true,
  cell: ({ organization_name: name }) => name,
};

const columns: readonly Column<Execution>[] = [
  { title: 'Started', isWideOnly: true, cell: ({ accepted_at: at }) => <Ago at={at} /> },
  organizationColumn,
  {
    title: 'Deployment',
    cell: ({ deployment_name: deployment, organization_name: organization, accepted_at: at }) => (
      <>
        {deployment}
        <Detail isNarrowOnly>
          {organization}, <Ago at={at} />
        </Detail>
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ state, error }) => (
      <>
        <StateBadge tone={tones[state]}>{state}</StateBadge>
        {error === null ? null : (
          <Detail>
            <LongText text={error.message} max={150} />
          </Detail>
        )}
      </>
    ),
  },
  {
    title: 'Duration',
    kind: 'number',
    cell: ({ accepted_at: from, finished_at: to }) => <Took from={from} to={to} />,
  },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (execution) => (execution.finished_at === null ? <CancelButton execution={execution} /> : null),
  },
];

function CancelButton({ execution }: { readonly execution: Execution }) {
  const cancel = useAction((id: string) => api('POST /api/v1/executions/:id/cancel', { params: { id } }), {
    stale: ['organizations'],
    done: () => 'Execution canceled.',
  });
  return (
    <Button
      size="compact-xs"
      variant="default"
      loading={cancel.isRunning}
      onClick={() => cancel.run(execution.id)}
      aria-label={`Cancel execution of ${execution.deployment_name}`}
    >
      Cancel
    </Button>
  );
}
