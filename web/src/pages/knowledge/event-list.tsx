// Events with participants and evidence; each links to its place in the document.
import type { KnowledgeEvent } from '../../../../src/api/knowledge.ts';
import { Anchor, Paper, Stack, Text } from '@mantine/core';
import { Fragment } from 'react';
import { percentText } from '../../components/format.ts';
import { dateText } from '../../components/time.tsx';
import { Link } from 'wouter';
import { CategoryBadge } from './category-badge.tsx';
import { EntityLink } from './entities/entity-link.tsx';
import { useAddress } from './space-ref.ts';

export function EventList({ events }: { readonly events: readonly KnowledgeEvent[] }) {
  return (
    <Stack gap="xs">
      {events.map((event) => (
        <EventCard key={event.id} event={event} />
      ))}
    </Stack>
  );
}

function EventCard({ event }: { readonly event: KnowledgeEvent }) {
  const address = useAddress();
  const href = address(`/artifacts/${event.artifact_id}`, { event: event.id });
  const [proof] = event.evidence;
  return (
    <Paper withBorder p="xs" component="article">
      <Text size="xs" c="dimmed">
        <CategoryBadge category={event.category} />{' '}
        {event.event_time === null ? '' : `${dateText(event.event_time)}, `}
        confidence {percentText(event.confidence)}, extracted by{' '}
        {event.method === 'model' ? 'a model' : 'rules'}
      </Text>
      <Anchor component={Link} href={href} size="sm" style={{ overflowWrap: 'anywhere' }}>
        {event.narrative}
      </Anchor>
      {proof === undefined || proof.quote === event.narrative ? null : (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          “{proof.quote}”
        </Text>
      )}
      <Text size="xs" mt={4}>
        <Participants event={event} />
      </Text>
    </Paper>
  );
}

function Participants({ event: { actors, subjects } }: { readonly event: KnowledgeEvent }) {
  const parts = [
    ...actors.map(({ entity_id: id, name, role }) => ({ id, name, word: role })),
    ...subjects.map(({ entity_id: id, name }) => ({ id, name, word: 'about' })),
  ];
  return parts.map(({ id, name, word }, index) => (
    <Fragment key={`${id} ${word}`}>
      {index === 0 ? '' : ', '}
      <Text span size="xs" c="dimmed">
        {word}{' '}
      </Text>
      <EntityLink id={id} name={name} />
    </Fragment>
  ));
}
