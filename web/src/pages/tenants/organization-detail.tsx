// One organization: limit, keys, deployments, executions.
import type { Limit } from '../../../../src/api/limits.ts';
import type { Deployments } from '../../../../src/api/deployments.ts';
import { Anchor, Code, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client.ts';
import { Empty, PageTitle, Shown } from '../../parts/states.tsx';
import { Executions } from './executions.tsx';
import { Keys } from './keys.tsx';
import { LimitEditor } from './limit-editor.tsx';

export function OrganizationDetail({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['tenants', 'limit', id],
    queryFn: ({ signal }) => get<Limit>(`/api/v1/limits/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval: 5_000,
  });
  return (
    <>
      <Anchor component={Link} href="/tenants" size="sm">
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
                    limit
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
    queryKey: ['tenants', 'deployments', organization],
    queryFn: ({ signal }) => get<Deployments>('/api/v1/deployments', { organization }, signal),
  });
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Deployments
      </Title>
      <Shown
        what="its deployments"
        query={query}
        isEmpty={({ deployments }) => deployments.length === 0}
        empty={
          <Empty title="No deployments yet">
            Publish a workflow with <Code>headworks deployments create --help</Code>
          </Empty>
        }
      >
        {({ deployments }) => (
          <Table verticalSpacing={4}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                <Table.Th>Workflow</Table.Th>
                <Table.Th>State</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {deployments.map((deployment) => (
                <Table.Tr key={deployment.id}>
                  <Table.Td style={{ overflowWrap: 'anywhere' }}>
                    {deployment.name}
                    <Text size="xs" c="dimmed">
                      POST {deployment.path}
                    </Text>
                  </Table.Td>
                  <Table.Td>{deployment.workflow}</Table.Td>
                  <Table.Td>{deployment.is_active ? 'active' : 'disabled'}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </Shown>
    </section>
  );
}
