// API keys of an organization.
import type { NewOrganizationKey, OrganizationKey } from '../../../../src/api/organizations.ts';
import { Alert, Button, Code, CopyButton, Group, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { ConfirmButton, useAction } from '../../components/action.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, Section, Shown } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Ago } from '../../components/time.tsx';

export function Keys({ organization }: { readonly organization: string }) {
  const query = useQuery({
    queryKey: ['organizations', 'keys', organization],
    queryFn: ({ signal }) =>
      api('GET /api/v1/organizations/:organization/keys', { params: { organization }, signal }),
  });
  const columns: readonly Column<OrganizationKey>[] = [
    {
      title: 'Name',
      cell: ({ name, prefix, created_at: at }) => (
        <>
          {name} <Code>{prefix}…</Code>
          <Detail>
            created <Ago at={at} />
          </Detail>
        </>
      ),
    },
    {
      title: 'State',
      cell: (key) => (
        <StateBadge tone={stateOf(key) === 'active' ? 'good' : 'idle'}>{stateOf(key)}</StateBadge>
      ),
    },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (key) =>
        stateOf(key) === 'active' ? <RevokeButton organization={organization} record={key} /> : null,
    },
  ];
  return (
    <Section title="API keys">
      <NewKey organization={organization} />
      <Shown
        what="the API keys"
        query={query}
        isEmpty={({ keys }) => keys.length === 0}
        empty={<Empty title="No API keys yet">Create one to call deployments.</Empty>}
      >
        {({ keys }) => <DataTable label="API keys" columns={columns} rows={keys} keyOf={({ id }) => id} />}
      </Shown>
    </Section>
  );
}

function stateOf({ revoked_at: revoked, expires_at: expires }: OrganizationKey): string {
  if (revoked !== null) return 'revoked';
  return expires !== null && Date.parse(expires) < Date.now() ? 'expired' : 'active';
}

function RevokeButton({
  organization,
  record,
}: {
  readonly organization: string;
  readonly record: OrganizationKey;
}) {
  const revoke = useAction(
    () =>
      api('DELETE /api/v1/organizations/:organization/keys/:id', { params: { organization, id: record.id } }),
    {
      stale: ['organizations'],
      done: () => `Revoked key ${record.name}.`,
    },
  );
  return (
    <ConfirmButton
      label="Revoke key"
      size="compact-xs"
      variant="default"
      loading={revoke.isRunning}
      question={`Requests with the key ${record.name} are rejected from now on. This cannot be undone.`}
      onConfirm={() => revoke.run(undefined)}
    />
  );
}

function NewKey({ organization }: { readonly organization: string }) {
  const [name, setName] = useState('');
  const [made, setMade] = useState<NewOrganizationKey | null>(null);
  const create = useAction(
    async (wanted: string) => {
      setMade(
        await api('POST /api/v1/organizations/:organization/keys', {
          params: { organization },
          body: { name: wanted },
        }),
      );
      setName('');
    },
    { stale: ['organizations'] },
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.run(name.trim());
  };
  return (
    <>
      <form onSubmit={submit}>
        <Group gap="xs" align="flex-end" mb="sm">
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
          mb="sm"
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
                  {copied ? 'Copied' : 'Copy key'}
                </Button>
              )}
            </CopyButton>
          </Group>
        </Alert>
      )}
    </>
  );
}
