// One row an organization; its limit is changed in place.
import { Anchor, Group, Progress, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { TenantsOverviewAnswer } from '../../../../src/http/contract.ts';
import { shortText } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';
import { fullness } from './fullness.ts';
import { LimitEditor } from './limit-editor.tsx';

type Row = TenantsOverviewAnswer['organizations'][number];

export function OrganizationTable({ overview }: { readonly overview: TenantsOverviewAnswer }) {
  const { organizations, organization_count: count } = overview;
  return (
    <section>
      <Wide label="Organizations">
        <Table verticalSpacing="xs" miw={760}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Organization</Table.Th>
              <Table.Th w={180}>Under way</Table.Th>
              <Table.Th>Limit</Table.Th>
              <Table.Th ta="right">Admitted</Table.Th>
              <Table.Th ta="right">Refused</Table.Th>
              <Table.Th ta="right">Slot held</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {organizations.map((row) => (
              <OrganizationRow key={row.limit.organization_id} row={row} />
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      <Text size="xs" c="dimmed" mt="xs">
        Admitted, refused and how long a slot was held: over the last hour, on this server.
        {count > organizations.length ? ` ${organizations.length} of ${count} organizations are shown.` : ''}
      </Text>
    </section>
  );
}

function OrganizationRow({ row }: { readonly row: Row }) {
  const { limit } = row;
  const used = limit.usage?.organization ?? null;
  const share = used === null ? 0 : (used / limit.limit) * 100;
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} href={`/tenants/${limit.organization_id}`} fw={600} size="sm">
          {limit.organization_name}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" miw={64}>
            {used ?? '–'} of {limit.limit}
          </Text>
          <Progress
            flex={1}
            value={share}
            color={fullness(share)}
            aria-label={`Share of its limit that ${limit.organization_name} uses`}
          />
        </Group>
      </Table.Td>
      <Table.Td>
        <LimitEditor limit={limit} />
      </Table.Td>
      <Table.Td ta="right">{row.admitted}</Table.Td>
      <Table.Td ta="right" c={row.refused > 0 ? 'red' : undefined} fw={row.refused > 0 ? 600 : undefined}>
        {row.refused}
      </Table.Td>
      <Table.Td ta="right">
        {row.average_hold_ms === null ? (
          '–'
        ) : (
          <>
            {shortText(row.average_hold_ms)}
            <Text size="xs" c="dimmed">
              at most {shortText(row.longest_hold_ms ?? 0)}
            </Text>
          </>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
