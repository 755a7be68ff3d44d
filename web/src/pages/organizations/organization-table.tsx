// Organizations with usage, limit and figures of the last hour.
import type { OrganizationsOverview } from '../../../../src/api/overview.ts';
import { Anchor, Progress, Text } from '@mantine/core';
import { Link } from 'wouter';
import { formatDuration, numberText } from '../../components/format.ts';
import { Empty } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { fullness } from '../../theme.ts';
import { LimitEditor } from './limit-editor.tsx';

type Row = OrganizationsOverview['organizations'][number];

export function OrganizationTable({ overview }: { readonly overview: OrganizationsOverview }) {
  const { organizations, organization_count: count } = overview;
  if (organizations.length === 0)
    return <Empty title="No matching organizations">Search for another part of the name.</Empty>;
  return (
    <>
      <DataTable
        label="Organizations"
        columns={columns}
        rows={organizations}
        keyOf={({ limit }) => limit.organization_id}
      />
      <Text size="xs" c="dimmed" mt="xs">
        Admitted, rejected and slot duration: last hour, this server.
        {count > organizations.length ? ` Showing ${organizations.length} of ${count} organizations.` : ''}
      </Text>
    </>
  );
}

const columns: readonly Column<Row>[] = [
  {
    title: 'Organization',
    cell: ({ limit, admitted, rejected }) => (
      <>
        <Anchor component={Link} href={`/organizations/${limit.organization_id}`} fw={600} size="sm">
          {limit.organization_name}
        </Anchor>
        <Detail isNarrowOnly>
          {admitted} admitted, <Rejected count={rejected} /> rejected
        </Detail>
      </>
    ),
  },
  { title: 'In flight', width: 180, cell: (row) => <InFlight row={row} /> },
  { title: 'Limit', cell: ({ limit }) => <LimitEditor limit={limit} /> },
  { title: 'Admitted', kind: 'number', isWideOnly: true, cell: ({ admitted }) => numberText(admitted) },
  {
    title: 'Rejected',
    kind: 'number',
    isWideOnly: true,
    cell: ({ rejected }) => <Rejected count={rejected} />,
  },
  {
    title: 'Slot duration',
    kind: 'number',
    isWideOnly: true,
    cell: ({ average_hold_ms: average, longest_hold_ms: longest }) =>
      average === null ? (
        '–'
      ) : (
        <>
          {formatDuration(average)}
          <Detail>max {formatDuration(longest ?? 0)}</Detail>
        </>
      ),
  },
];

function InFlight({ row: { limit } }: { readonly row: Row }) {
  const used = limit.usage?.organization ?? null;
  const share = (used ?? 0) / limit.limit;
  return (
    <>
      {used ?? '–'} of {numberText(limit.limit)}
      <Progress
        mt={4}
        value={share * 100}
        color={fullness(share)}
        aria-label={`Used share of the limit of ${limit.organization_name}`}
      />
    </>
  );
}

function Rejected({ count }: { readonly count: number }) {
  return (
    <Text span inherit {...(count > 0 ? { c: 'red', fw: 600 } : {})}>
      {numberText(count)}
    </Text>
  );
}
