// One organization: limit, keys, deployments, executions.
import type { Deployments } from '../../../../src/api/deployments.ts';
import { Anchor, Code, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, PageTitle, Section, Shown } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Executions } from './executions.tsx';
import { Keys } from './keys.tsx';
import { LimitEditor } from './limit-editor.tsx';

export function OrganizationDetail({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['organizations', 'limit', id],
    queryFn: ({ signal }) =>
      api('GET /api/v1/limits/:organization', { params: { organization: id }, signal }),
    refetchInterval: 5_000,
  });
  return (
    <>
      <Anchor component={Link} href="/organizations" size="sm">
        All organizations
      </Anchor>
      <Shown what="the organization" title="Organization" query={query}>
        {(limit) => (
          <Stack gap="xl">
            <div>
              <PageTitle>{limit.organization_name}</PageTitle>
              <Group gap="lg">
                <Text size="sm">
                  {limit.usage?.organization ?? '–'} of {limit.limit} in flight
                </Text>
                <Group gap="xs">
                  <Text size="sm" c="dimmed">
                    Limit
                  </Text>
                  <LimitEditor limit={limit} />
                </Group>
                <Text size="xs" c="dimmed">
                  {limit.organization_id}
                </Text>
              </Group>
            </div>
            <Keys organization={id} />
            <Deployments organization={id} />
            <Executions organization={id} />
          </Stack>
        )}
      </Shown>
    </>
  );
}

function Deployments({ organization }: { readonly organization: string }) {
  const query = useQuery({
    queryKey: ['organizations', 'deployments', organization],
    queryFn: ({ signal }) => api('GET /api/v1/deployments', { query: { organization }, signal }),
  });
  return (
    <Section title="Deployments">
      <Shown
        what="the deployments"
        query={query}
        isEmpty={({ deployments }) => deployments.length === 0}
        empty={
          <Empty title="No deployments yet">
            Publish a workflow with <Code>headworks deployments create --help</Code>
          </Empty>
        }
      >
        {({ deployments }) => (
          <DataTable label="Deployments" columns={columns} rows={deployments} keyOf={({ id }) => id} />
        )}
      </Shown>
    </Section>
  );
}

const columns: readonly Column<Deployments['deployments'][number]>[] = [
  {
    title: 'Name',
    cell: ({ name, path }) => (
      <>
        {name}
        <Detail>POST {path}</Detail>
      </>
    ),
  },
  { title: 'Workflow', cell: ({ workflow }) => workflow },
  {
    title: 'State',
    cell: ({ is_active: isActive }) => (
      <StateBadge tone={isActive ? 'good' : 'idle'}>{isActive ? 'enabled' : 'disabled'}</StateBadge>
    ),
  },
];
