// Page Organizations: usage and limits of organizations, rejections, keys, executions.
import { Code, Stack, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Route, Switch } from 'wouter';
import { api } from '../../api/client.ts';
import { Empty, PageTitle, Section, Shown } from '../../components/states.tsx';
import { Admissions } from './admissions.tsx';
import { CreateOrganization } from './create-organization.tsx';
import { Executions } from './executions.tsx';
import { OrganizationDetail } from './organization-detail.tsx';
import { OrganizationTable } from './organization-table.tsx';

export default function OrganizationsPage() {
  return (
    <Switch>
      <Route path="/organizations/:id">{({ id }) => <OrganizationDetail id={id} />}</Route>
      <Route>
        <AllOrganizations />
      </Route>
    </Switch>
  );
}

function useOrganizations(name: string) {
  return useQuery({
    queryKey: ['organizations', 'overview', name],
    queryFn: ({ signal }) =>
      api('GET /api/v1/overview/organizations', { query: name === '' ? {} : { name }, signal }),
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  });
}

/** From this number on there is a search field. */
const manyOrganizations = 20;

function AllOrganizations() {
  const [name, setName] = useState('');
  const [typed] = useDebouncedValue(name.trim(), 300);
  const query = useOrganizations(typed);
  return (
    <>
      <PageTitle right={<CreateOrganization />}>Organizations</PageTitle>
      <Shown
        what="the organizations"
        query={query}
        isEmpty={({ organization_count: count }) => count === 0}
        empty={
          <Empty title="No organizations yet">
            Add one to issue API keys, publish deployments and set a concurrency limit. On the command line:{' '}
            <Code>headworks organizations create NAME</Code>
          </Empty>
        }
      >
        {(data) => (
          <Stack gap="lg">
            <Admissions overview={data} />
            {data.organization_count > manyOrganizations ? (
              <TextInput
                label="Search organizations"
                placeholder="Part of the name"
                maw={320}
                maxLength={200}
                value={name}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
              />
            ) : null}
            <Section title="Organizations">
              <OrganizationTable overview={data} />
            </Section>
            <Executions />
          </Stack>
        )}
      </Shown>
    </>
  );
}
