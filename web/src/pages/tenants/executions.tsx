// Executions of one organization or of all, newest first.
import type { Execution, Executions } from '../../../../src/api/executions.ts';
import { Button, Code } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { call, get } from '../../api/client.ts';
import { useAction } from '../../parts/action.tsx';
import { LongText } from '../../parts/long-text.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { Empty, Section, Shown } from '../../parts/states.tsx';
import { DataTable, Detail, type Column } from '../../parts/table.tsx';
import { Ago, Took } from '../../parts/time.tsx';
import type { Tone } from '../../theme.ts';

const states: Readonly<Record<Execution['status'], readonly [string, Tone]>> = {
  queued: ['queued', 'idle'],
  executing: ['running', 'busy'],
  completed: ['completed', 'good'],
  error: ['failed', 'bad'],
  stopped: ['canceled', 'warning'],
};

export function Executions({ organization = null }: { readonly organization?: string | null }) {
  const query = useInfiniteQuery({
    queryKey: ['tenants', 'executions', organization],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      get<Executions>('/api/v1/executions', { organization, after: pageParam, limit: 25 }, signal),
    getNextPageParam: ({ next }) => next,
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
    cell: ({ status, error }) => {
      const [label, tone] = states[status];
      return (
        <>
          <StateBadge tone={tone}>{label}</StateBadge>
          {error === null ? null : (
            <Detail>
              <LongText text={error.message} most={150} />
            </Detail>
          )}
        </>
      );
    },
  },
  {
    title: 'Duration',
    kind: 'number',
    cell: ({ accepted_at: from, ended_at: to }) => <Took from={from} to={to} />,
  },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (execution) => (execution.ended_at === null ? <StopButton execution={execution} /> : null),
  },
];

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
