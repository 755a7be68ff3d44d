// Entities of a space, filtered by name, type and review state.
import type { Entity } from '../../../../../src/api/entities.ts';
import { Checkbox, Code, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { numberText } from '../../../components/format.ts';
import { StateBadge } from '../../../components/state-badge.tsx';
import { Empty, Shown } from '../../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../../components/table.tsx';
import { useList } from '../queries.ts';
import type { EntityType } from '../labels.ts';
import { entityTypeLabels, reviewLabels } from '../labels.ts';
import { EntityLink } from './entity-link.tsx';
import { ShowMore } from '../../../components/show-more.tsx';

const pageSize = 50;

export function EntitiesPage() {
  const [params] = useSearchParams();
  const name = params.get('name') ?? undefined;
  const type = entityTypeOf(params.get('type'));
  const isReview = params.get('review') === 'yes';
  const list = useList('GET /api/v1/knowledge/entities', {
    query: { name, type, needs_review: isReview ? 'true' : undefined, limit: pageSize },
  });
  const isNarrowed = name !== undefined || type !== undefined || isReview;
  return (
    <Stack gap="md">
      <Filters />
      <Shown
        what="the entities"
        query={list}
        isEmpty={(pages) => pages.every(({ entities }) => entities.length === 0)}
        empty={
          isNarrowed ? (
            <Empty title="No matching entities">Change or clear the filters.</Empty>
          ) : (
            <EmptyState />
          )
        }
      >
        {(pages) => (
          <div>
            <DataTable
              label="Entities"
              columns={columns}
              rows={pages.flatMap(({ entities }) => entities)}
              keyOf={({ id }) => id}
            />
            <ShowMore of={list} />
          </div>
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

const columns: readonly Column<Entity>[] = [
  {
    title: 'Name',
    cell: (entity) => (
      <>
        <Text size="sm" fw={600} component="div">
          <EntityLink id={entity.id} name={entity.canonical_name} />
        </Text>
        <Detail>
          {[entity.role, entity.organization, entity.email].filter((clue) => clue !== null).join(', ')}
        </Detail>
        <Detail isNarrowOnly>
          {entityTypeLabels[entity.type]} <ReviewBadge entity={entity} />
        </Detail>
      </>
    ),
  },
  { title: 'Type', isWideOnly: true, cell: ({ type }) => entityTypeLabels[type] },
  {
    title: 'Aliases',
    isWideOnly: true,
    cell: ({ aliases }) => (aliases.length === 0 ? '–' : aliases.join(', ')),
  },
  { title: 'Mentions', kind: 'number', cell: ({ mention_count: count }) => numberText(count) },
  { title: 'Events', kind: 'number', cell: ({ event_count: count }) => numberText(count) },
  { title: 'Review', isWideOnly: true, cell: (entity) => <ReviewBadge entity={entity} /> },
];

/** An unknown type in the address is ignored. */
const entityTypeOf = (type: string | null): EntityType | undefined =>
  type !== null && type in entityTypeLabels ? (type as EntityType) : undefined;

export function ReviewBadge({ entity }: { readonly entity: Entity }) {
  if (entity.review_reason === null) return null;
  return <StateBadge tone="warning">{reviewLabels[entity.review_reason]}</StateBadge>;
}
