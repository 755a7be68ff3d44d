// Entities of a space, filtered by name, type and review state.
import type { Entities, Entity } from '../../../../../src/api/entities.ts';
import { Badge, Checkbox, Code, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { Empty, Shown } from '../../../parts/states.tsx';
import { toneColor } from '../../../theme.ts';
import { useList } from '../queries.ts';
import { entityTypeLabels, reviewLabels } from '../labels.ts';
import { EntityLink } from './entity-link.tsx';
import { ShowMore } from '../../../parts/show-more.tsx';

const pageSize = 50;

export function EntitiesPage() {
  const [params] = useSearchParams();
  const name = params.get('name') ?? undefined;
  const type = params.get('type') ?? undefined;
  const isReview = params.get('review') === 'yes';
  const list = useList<Entities>('/entities', {
    name,
    type,
    needs_review: isReview ? true : undefined,
    limit: pageSize,
  });
  const isNarrowed = name !== undefined || type !== undefined || isReview;
  return (
    <Stack gap="md">
      <Filters />
      <Shown
        what="the entities"
        query={list}
        isEmpty={(pages) => pages.every(({ entities }) => entities.length === 0)}
        empty={isNarrowed ? <Empty title="No matching entities" /> : <EmptyState />}
      >
        {(pages) => (
          <>
            <EntityTable entities={pages.flatMap(({ entities }) => entities)} />
            <ShowMore of={list} />
          </>
        )}
      </Shown>
    </Stack>
  );
}

function EmptyState() {
  return (
    <Empty title="No entities yet">
      People, organizations and projects appear when documents that mention them are ingested:{' '}
      <Code>headworks ingest FOLDER</Code>.
    </Empty>
  );
}

function Filters() {
  const [params, setParams] = useSearchParams();
  const [name, setName] = useState(params.get('name') ?? '');
  const put = (field: string, value: string): void =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === '') after.delete(field);
        else after.set(field, value);
        return after;
      },
      { replace: true },
    );
  const putName = useDebouncedCallback((value: string) => put('name', value), 250);
  return (
    <Group gap="sm">
      <TextInput
        aria-label="Name or alias"
        placeholder="Name or alias"
        size="sm"
        flex="1 1 200px"
        maw={360}
        value={name}
        onChange={({ currentTarget }) => {
          setName(currentTarget.value);
          putName(currentTarget.value.trim());
        }}
      />
      <Select
        aria-label="Type"
        placeholder="All types"
        w={150}
        clearable
        data={Object.entries(entityTypeLabels).map(([value, label]) => ({ value, label }))}
        value={params.get('type')}
        onChange={(type) => put('type', type ?? '')}
      />
      <Checkbox
        label="Needs review"
        checked={params.get('review') === 'yes'}
        onChange={({ currentTarget }) => put('review', currentTarget.checked ? 'yes' : '')}
      />
    </Group>
  );
}

function EntityTable({ entities }: { readonly entities: readonly Entity[] }) {
  return (
    <Table.ScrollContainer minWidth={600} type="native">
      <Table verticalSpacing={6} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Type</Table.Th>
            <Table.Th>Aliases</Table.Th>
            <Table.Th ta="right">Mentions</Table.Th>
            <Table.Th ta="right">Events</Table.Th>
            <Table.Th>Review</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entities.map((entity) => (
            <Table.Tr key={entity.id}>
              <Table.Td>
                <Text size="sm" fw={500} component="div">
                  <EntityLink id={entity.id} name={entity.canonical_name} />
                </Text>
                <Text size="xs" c="dimmed">
                  {[entity.role, entity.organization, entity.email]
                    .filter((clue) => clue !== null)
                    .join(', ')}
                </Text>
              </Table.Td>
              <Table.Td>{entityTypeLabels[entity.type]}</Table.Td>
              <Table.Td>
                <Text size="xs" c="dimmed" lineClamp={2}>
                  {entity.aliases.length === 0 ? '–' : entity.aliases.join(', ')}
                </Text>
              </Table.Td>
              <Table.Td ta="right">{entity.mention_count}</Table.Td>
              <Table.Td ta="right">{entity.event_count}</Table.Td>
              <Table.Td>
                <ReviewBadge entity={entity} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

export function ReviewBadge({ entity }: { readonly entity: Entity }) {
  if (entity.review_reason === null) return null;
  return (
    <Badge color={toneColor.warning} variant="dot" tt="none" fw={500} style={{ flexShrink: 0 }}>
      {reviewLabels[entity.review_reason]}
    </Badge>
  );
}
