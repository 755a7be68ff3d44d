// The page Tenants: what organizations use of what they may, who was refused, and their keys.
import { Code, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Route, Switch } from 'wouter';
import type { TenantsOverviewAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';
import { Empty, PageTitle, Shown } from '../../parts/states.tsx';
import { Admissions } from './admissions.tsx';
import { AddOrganization } from './add-organization.tsx';
import { Executions } from './executions.tsx';
import { OrganizationDetail } from './organization-detail.tsx';
import { OrganizationTable } from './organization-table.tsx';

export default function TenantsPage() {
  return (
    <Switch>
      <Route path="/tenants/:id">{({ id }) => <OrganizationDetail id={id} />}</Route>
      <Route>
        <AllOrganizations />
      </Route>
    </Switch>
  );
}

function useTenants() {
  return useQuery({
    queryKey: ['tenants', 'overview'],
    queryFn: ({ signal }) => get<TenantsOverviewAnswer>('/api/v1/overview/tenants', {}, signal),
    refetchInterval: 5_000,
  });
}

function AllOrganizations() {
  const query = useTenants();
  return (
    <>
      <PageTitle right={<AddOrganization />}>Tenants</PageTitle>
      <Shown
        what="the organizations"
        query={query}
        isEmpty={({ organization_count: count }) => count === 0}
        empty={
          <Empty title="There is no organization yet">
            An organization has keys, deployments it calls with them, and a limit on what it may have under
            way at once. Add one here, or with <Code>headworks organizations add NAME</Code>
          </Empty>
        }
      >
        {(data) => (
          <Stack gap="lg">
            <Admissions overview={data} />
            <OrganizationTable overview={data} />
            <Executions />
          </Stack>
        )}
      </Shown>
    </>
  );
}
