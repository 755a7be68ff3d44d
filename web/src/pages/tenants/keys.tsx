// API keys of an organization.
import type {
  NewOrganizationKey,
  OrganizationKey,
  OrganizationKeys,
} from '../../../../src/api/organizations.ts';
import { Alert, Badge, Button, Code, CopyButton, Group, Table, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { useState } from 'react';
import { call, get } from '../../api/client.ts';
import { ConfirmButton, useAction } from '../../parts/action.tsx';
import { Empty, Shown } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { ActionsHeader, Wide } from '../../parts/wide.tsx';

const pathOf = (organization: string): string =>
  `/api/v1/organizations/${encodeURIComponent(organization)}/keys`;

export function Keys({ organization }: { readonly organization: string }) {
  const query = useQuery({
    queryKey: ['tenants', 'keys', organization],
    queryFn: ({ signal }) => get<OrganizationKeys>(pathOf(organization), {}, signal),
  });
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Keys
      </Title>
      <NewKey organization={organization} />
      <Shown
        what="its keys"
        query={query}
        isEmpty={({ keys }) => keys.length === 0}
        empty={<Empty title="No API keys yet">Create one to call deployments.</Empty>}
      >
        {({ keys }) => (
          <Wide label="Keys">
            <Table verticalSpacing={4} mt="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Name</Table.Th>
                  <Table.Th>State</Table.Th>
                  <ActionsHeader />
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {keys.map((key) => (
                  <KeyRow key={key.id} organization={organization} record={key} />
                ))}
              </Table.Tbody>
            </Table>
          </Wide>
        )}
      </Shown>
    </section>
  );
}

function KeyRow({
  organization,
  record,
}: {
  readonly organization: string;
  readonly record: OrganizationKey;
}) {
  const revoke = useAction(() => call('DELETE', `${pathOf(organization)}/${record.id}`), {
    stale: ['tenants'],
    done: () => `Revoked key ${record.name}.`,
  });
  const isOver = record.expires_at !== null && Date.parse(record.expires_at) < Date.now();
  const state = record.revoked_at === null ? (isOver ? 'expired' : 'active') : 'revoked';
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        {record.name} <Code>{record.prefix}…</Code>
        <Text size="xs" c="dimmed">
          made <Ago at={record.created_at} />
        </Text>
      </Table.Td>
      <Table.Td>
        <Badge variant="light" tt="none" color={state === 'active' ? 'teal' : 'gray'}>
          {state}
        </Badge>
      </Table.Td>
      <Table.Td ta="right">
        {state === 'active' ? (
          <ConfirmButton
            label="Revoke"
            size="compact-xs"
            variant="default"
            loading={revoke.isRunning}
            question={`Requests with the key ${record.name} are rejected from now on. This cannot be undone.`}
            onConfirm={() => revoke.run(undefined)}
          />
        ) : null}
      </Table.Td>
    </Table.Tr>
  );
}

function NewKey({ organization }: { readonly organization: string }) {
  const [name, setName] = useState('');
  const [made, setMade] = useState<NewOrganizationKey | null>(null);
  const create = useAction(
    async (wanted: string) => {
      const answer = await call<NewOrganizationKey>('POST', pathOf(organization), {
        body: { name: wanted },
      });
      setMade(answer);
      setName('');
    },
    { stale: ['tenants'] },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.run(name.trim());
  };
  return (
    <>
      <form onSubmit={submit}>
        <Group gap="xs" align="flex-end">
          <TextInput
            size="xs"
            label="Name of the new key"
            placeholder="production"
            value={name}
            maxLength={100}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Button size="xs" type="submit" disabled={name.trim() === ''} loading={create.isRunning}>
            Create key
          </Button>
        </Group>
      </form>
      {made === null ? null : (
        <Alert
          color="teal"
          mt="sm"
          title={`API key ${made.name}`}
          withCloseButton
          onClose={() => setMade(null)}
        >
          Copy it now. It is not shown again.
          <Group gap="xs" mt="xs">
            <Code style={{ overflowWrap: 'anywhere' }}>{made.key}</Code>
            <CopyButton value={made.key}>
              {({ copied, copy }) => (
                <Button size="compact-xs" variant="default" onClick={copy}>
                  {copied ? 'Copied' : 'Copy'}
                </Button>
              )}
            </CopyButton>
          </Group>
        </Alert>
      )}
    </>
  );
}
