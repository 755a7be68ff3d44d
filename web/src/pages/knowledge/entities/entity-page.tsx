// One entity: attributes, graph, events, mentions, possible duplicates, merges.
import type { EntityDetail } from '../../../../../src/api/entities.ts';
import { Alert, Code, Grid, Group, Stack, Text, Title } from '@mantine/core';
import { Empty, Section, Shown } from '../../../components/states.tsx';
import { useRead } from '../queries.ts';
import { EventList } from '../event-list.tsx';
import { GraphExplorer } from '../graph/graph-explorer.tsx';
import { counted } from '../../../components/format.ts';
import { entityTypeLabels } from '../labels.ts';
import { ReviewBadge } from './entities-page.tsx';
import { EntityFacts } from './entity-facts.tsx';
import { EntityPairs } from './entity-pairs.tsx';
import { MergeForm } from './merge-form.tsx';
import { Mentions } from './mentions.tsx';
import { Merges } from './merges.tsx';

const maxEvents = 50;

export function EntityPage({ id }: { readonly id: string }) {
  const query = useRead('GET /api/v1/knowledge/entities/:id', { params: { id } });
  return (
    <Shown what="the entity" query={query}>
      {(entity) => (
        <Stack gap="lg">
          {entity.id === id ? null : (
            <Alert color="blue" p="xs">
              The requested entity was merged into this one. Undo the merge below.
            </Alert>
          )}
          <Entity entity={entity} />
        </Stack>
      )}
    </Shown>
  );
}

function Entity({ entity }: { readonly entity: EntityDetail }) {
  return (
    <>
      <Group gap="sm" align="baseline">
        <Title order={2} size="h3" style={{ overflowWrap: 'anywhere' }}>
          {entity.canonical_name}
        </Title>
        <Text c="dimmed">{entityTypeLabels[entity.type]}</Text>
        <ReviewBadge entity={entity} />
      </Group>
      <EntityFacts entity={entity} />
      <Section order={3} title="Related">
        <GraphExplorer key={entity.id} entityId={entity.id} name={entity.canonical_name} />
      </Section>
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Section order={3} title={counted(entity.event_count, 'event')}>
            <Events id={entity.id} />
          </Section>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 6 }}>
          <Stack gap="lg">
            <Section order={3} title={counted(entity.mention_count, 'mention')}>
              <Mentions entity={entity} />
            </Section>
            <Section order={3} title="Possible duplicates">
              <EntityPairs entity={entity} />
            </Section>
            <Section order={3} title="Merges">
              <Merges entity={entity} />
              <MergeForm entity={entity} />
            </Section>
          </Stack>
        </Grid.Col>
      </Grid>
    </>
  );
}

function Events({ id }: { readonly id: string }) {
  const query = useRead('GET /api/v1/knowledge/events', { query: { entity_id: id, limit: maxEvents } });
  return (
    <Shown
      what="the events"
      query={query}
      isEmpty={({ events }) => events.length === 0}
      empty={<Empty title="No events">Events that involve this entity are listed here.</Empty>}
    >
      {({ events, next }) => (
        <>
          <EventList events={events} />
          {next === null ? null : (
            <Text size="xs" c="dimmed" mt="xs">
              Showing the newest {maxEvents}. For all, run <Code>headworks events list --entity-id {id}</Code>
            </Text>
          )}
        </>
      )}
    </Shown>
  );
}
