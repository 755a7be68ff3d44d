// The page Tenants: what organizations use of what they may, who was refused, and their keys.
import { Code, Stack, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
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

function useTenants(name: string) {
  return useQuery({
    queryKey: ['tenants', 'overview', name],
    queryFn: ({ signal }) =>
      get<TenantsOverviewAnswer>('/api/v1/overview/tenants', name === '' ? {} : { name }, signal),
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  });
}

/** More than one looks through at a glance. */
const manyOrganizations = 20;

function AllOrganizations() {
  const [name, setName] = useState('');
  const [typed] = useDebouncedValue(name.trim(), 300);
  const query = useTenants(typed);
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
            {data.organization_count > manyOrganizations ? (
              <TextInput
                label="Find an organization"
                placeholder="part of its name"
                maw={320}
                maxLength={200}
                value={name}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
              />
            ) : null}
            <OrganizationTable overview={data} />
            <Executions />
          </Stack>
        )}
      </Shown>
    </>
  );
}
