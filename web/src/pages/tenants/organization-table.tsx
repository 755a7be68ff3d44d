// Organizations with usage, limit and figures of the last hour.
import type { OrganizationsOverview } from '../../../../src/api/overview.ts';
import { Anchor, Flex, Progress, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useIsNarrow } from '../../parts/narrow.ts';
import { Empty } from '../../parts/states.tsx';
import { shortText } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';
import { fullness } from './fullness.ts';
import { LimitEditor } from './limit-editor.tsx';

type Row = OrganizationsOverview['organizations'][number];

export function OrganizationTable({ overview }: { readonly overview: OrganizationsOverview }) {
  const { organizations, organization_count: count } = overview;
  const isNarrow = useIsNarrow();
  if (organizations.length === 0) return <Empty title="No matching organizations" />;
  return (
    <section>
      <Wide label="Organizations">
        <Table verticalSpacing="xs" {...(isNarrow ? { horizontalSpacing: 6 } : { miw: 760 })}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Organization</Table.Th>
              <Table.Th w={isNarrow ? 80 : 180}>In flight</Table.Th>
              <Table.Th>Limit</Table.Th>
              {isNarrow ? null : (
                <>
                  <Table.Th ta="right">Admitted</Table.Th>
                  <Table.Th ta="right">Rejected</Table.Th>
                  <Table.Th ta="right">Hold time</Table.Th>
                </>
              )}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {organizations.map((row) => (
              <OrganizationRow key={row.limit.organization_id} row={row} isNarrow={isNarrow} />
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      <Text size="xs" c="dimmed" mt="xs">
        Admitted, rejected and hold time: last hour, this server.
        {count > organizations.length ? ` Showing ${organizations.length} of ${count} organizations.` : ''}
      </Text>
    </section>
  );
}

function OrganizationRow({ row, isNarrow }: { readonly row: Row; readonly isNarrow: boolean }) {
  const { limit } = row;
  const used = limit.usage?.organization ?? null;
  const share = used === null ? 0 : (used / limit.limit) * 100;
  return (
    <Table.Tr>
      <Table.Td miw={isNarrow ? 0 : 140} style={{ overflowWrap: 'anywhere' }}>
        <Anchor component={Link} href={`/tenants/${limit.organization_id}`} fw={600} size="sm">
          {limit.organization_name}
        </Anchor>
        {isNarrow ? <LastHourText row={row} /> : null}
      </Table.Td>
      <Table.Td>
        <Flex gap={isNarrow ? 4 : 'xs'} direction={isNarrow ? 'column' : 'row'} align="stretch">
          <Text size="sm" miw={64}>
            {used ?? '–'} of {limit.limit}
          </Text>
          <Progress
            flex={isNarrow ? 'none' : 1}
            my="auto"
            value={share}
            color={fullness(share)}
            aria-label={`Used share of the limit of ${limit.organization_name}`}
          />
        </Flex>
      </Table.Td>
      <Table.Td>
        <LimitEditor limit={limit} />
      </Table.Td>
      {isNarrow ? null : <LastHour row={row} />}
    </Table.Tr>
  );
}

function LastHour({ row }: { readonly row: Row }) {
  return (
    <>
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
              max {shortText(row.longest_hold_ms ?? 0)}
            </Text>
          </>
        )}
      </Table.Td>
    </>
  );
}

function LastHourText({ row }: { readonly row: Row }) {
  return (
    <Text size="xs" c="dimmed">
      {row.admitted} admitted,{' '}
      <Text span inherit c={row.refused > 0 ? 'red' : undefined}>
        {row.refused} rejected
      </Text>
      {row.average_hold_ms === null ? '' : `, hold time ${shortText(row.average_hold_ms)}`}
    </Text>
  );
}
