// Vault of a run: types, items, and versions of an item side by side.
import type { VaultItems, VaultSummary } from '../../../../src/api/extraction.ts';
import { Anchor, Badge, Box, Grid, NavLink, Select, Stack, Table, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearchParams } from 'wouter';
import { get } from '../../api/client.ts';
import { Empty, Failed, Loading, PageTitle, Shown } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';
import { toneColor, type Tone } from '../../theme.ts';
import { useVault } from './dead-letters.tsx';
import { ItemVersions } from './item-versions.tsx';
import type { Names } from './names.ts';
import { nameOf, useNames } from './names.ts';
import { ShowMore } from '../../parts/show-more.tsx';

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
        empty={<Empty title="The vault is empty" />}
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
            rightSection={
              <Badge variant="light" tt="none" color={toneColor[statusTone(type.status)]}>
                {type.live}
              </Badge>
            }
          />
        ))}
      </Box>
    </>
  );
}

const statusTone = (status: string): Tone =>
  status === 'completed' ? 'good' : status === 'incomplete' ? 'warning' : 'idle';

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
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      get<VaultItems>(
        `/api/v1/extraction/runs/${run}/vault/items`,
        { type, after: pageParam, limit: 50 },
        signal,
      ),
    getNextPageParam: ({ next }) => next,
  });
  const items = query.data?.pages.flatMap((page) => page.items);
  if (items === undefined)
    return query.isError ? <Failed what="the items" error={query.error} /> : <Loading what="the items" />;
  if (items.length === 0) return <Empty title={`No ${type}`} />;
  return (
    <Stack>
      <Wide label={`Items of the type ${type}`}>
        <Table verticalSpacing={4} miw={480} highlightOnHover>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Name</Table.Th>
              <Table.Th>Owner</Table.Th>
              <Table.Th>Folder</Table.Th>
              <Table.Th ta="right">Versions</Table.Th>
              <Table.Th ta="right">Bytes</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((item) => (
              <Table.Tr key={item.id}>
                <Table.Td>
                  <Anchor
                    component="button"
                    type="button"
                    size="sm"
                    ta="left"
                    onClick={() => onOpen(item.id)}
                  >
                    {item.name ?? item.id}
                  </Anchor>
                  {item.deleted_at === null ? null : (
                    <Text size="xs" c="dimmed">
                      deleted <Ago at={item.deleted_at} />
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>{nameOf(names, 'users', item.owner)}</Table.Td>
                <Table.Td>{nameOf(names, 'folders', item.folder)}</Table.Td>
                <Table.Td ta="right">{item.versions}</Table.Td>
                <Table.Td ta="right">{item.size}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
      <ShowMore of={query} />
    </Stack>
  );
}
