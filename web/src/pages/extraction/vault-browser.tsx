// Vault of a run: types, items, and versions of an item side by side.
import type { VaultItems, VaultSummary } from '../../../../src/api/extraction.ts';
import { Anchor, Box, Grid, NavLink, Select } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'wouter';
import { api } from '../../api/client.ts';
import { formatBytes } from '../../components/format.ts';
import { numberText } from '../../components/format.ts';
import { StateBadge } from '../../components/state-badge.tsx';
import { Empty, PageTitle, Shown } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Ago } from '../../components/time.tsx';
import type { Tone } from '../../theme.ts';
import { useVault } from './dead-letters.tsx';
import { ItemVersions } from './item-versions.tsx';
import type { Names } from './names.ts';
import { nameOf, useNames } from './names.ts';
import { ShowMore } from '../../components/show-more.tsx';

export function VaultBrowser({ run }: { readonly run: string }) {
  const query = useVault(run);
  const names = useNames(run, query.data);
  const [params, setParams] = useSearchParams();
  const item = params.get('item');
  return (
    <>
      <Anchor component={Link} href={`/extraction/runs/${run}`} size="sm">
        Back to run
      </Anchor>
      <PageTitle>Vault</PageTitle>
      <Shown
        what="the vault"
        query={query}
        isEmpty={({ types }) => types.length === 0}
        empty={<Empty title="The vault is empty">Items appear when a run extracts them.</Empty>}
      >
        {({ types }) => {
          const type = params.get('type') ?? types[0]?.type ?? '';
          return (
            <Grid gap="lg">
              <Grid.Col span={{ base: 12, sm: 4, lg: 3 }}>
                <Types types={types} chosen={type} onChoose={(chosen) => setParams({ type: chosen })} />
              </Grid.Col>
              <Grid.Col span={{ base: 12, sm: 8, lg: 9 }}>
                {item === null ? (
                  <Items run={run} type={type} names={names} onOpen={(id) => setParams({ type, item: id })} />
                ) : (
                  <ItemVersions run={run} type={type} id={item} onBack={() => setParams({ type })} />
                )}
              </Grid.Col>
            </Grid>
          );
        }}
      </Shown>
    </>
  );
}

function Types({
  types,
  chosen,
  onChoose,
}: {
  readonly types: VaultSummary['types'];
  readonly chosen: string;
  readonly onChoose: (type: string) => void;
}) {
  return (
    <>
      <Select
        hiddenFrom="sm"
        label="Type"
        data={types.map(({ type, live }) => ({ value: type, label: `${type} (${live})` }))}
        value={chosen}
        allowDeselect={false}
        onChange={(type) => onChoose(type ?? chosen)}
      />
      <Box component="nav" aria-label="Types" visibleFrom="sm">
        {types.map((type) => (
          <NavLink
            key={type.type}
            component="button"
            active={type.type === chosen}
            onClick={() => onChoose(type.type)}
            label={type.type}
            description={describe(type)}
            rightSection={<StateBadge tone={stateTone(type.state)}>{numberText(type.live)}</StateBadge>}
          />
        ))}
      </Box>
    </>
  );
}

const stateTone = (state: string): Tone =>
  state === 'completed' ? 'good' : state === 'incomplete' ? 'warning' : 'idle';

/** Why the type is incomplete, and its deleted items; undefined for a complete type. */
function describe({ reason, deleted }: VaultSummary['types'][number]): string | undefined {
  const parts = [reason, deleted > 0 ? `${deleted} deleted` : null].filter((part) => part !== null);
  return parts.length === 0 ? undefined : parts.join('; ');
}

function Items({
  run,
  type,
  names,
  onOpen,
}: {
  readonly run: string;
  readonly type: string;
  readonly names: Names;
  readonly onOpen: (id: string) => void;
}) {
  const query = useInfiniteQuery({
    queryKey: ['extraction', 'vault', run, 'items', type],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      api('GET /api/v1/extraction/runs/:id/vault/items', {
        params: { id: run },
        query: { type, after: pageParam, limit: 50 },
        signal,
      }),
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
  const columns: readonly Column<VaultItems['items'][number]>[] = [
    {
      title: 'Name',
      cell: (item) => (
        <>
          <Anchor component="button" type="button" size="sm" ta="left" onClick={() => onOpen(item.id)}>
            {item.name ?? item.id}
          </Anchor>
          {item.deleted_at === null ? null : (
            <Detail>
              deleted <Ago at={item.deleted_at} />
            </Detail>
          )}
        </>
      ),
    },
    { title: 'Owner', cell: ({ owner }) => nameOf(names, 'users', owner) },
    { title: 'Folder', isWideOnly: true, cell: ({ folder }) => nameOf(names, 'folders', folder) },
    { title: 'Versions', kind: 'number', cell: ({ versions }) => numberText(versions) },
    { title: 'Size', kind: 'number', isWideOnly: true, cell: ({ size }) => formatBytes(size) },
  ];
  return (
    <>
      <Shown
        what="the items"
        query={query}
        isEmpty={(items) => items.length === 0}
        empty={<Empty title={`No ${type}`}>The source has no items of this type.</Empty>}
      >
        {(items) => (
          <DataTable
            label={`Items of the type ${type}`}
            columns={columns}
            rows={items}
            keyOf={({ id }) => id}
          />
        )}
      </Shown>
      <ShowMore of={query} />
    </>
  );
}
