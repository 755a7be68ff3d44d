// Documents and latest events of one side of a pair.
import type { Entity } from '../../../../../src/api/entities.ts';
import { Anchor, List, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';
import { useRead } from '../queries.ts';
import { CategoryBadge } from '../category-badge.tsx';
import { formatRanges } from '../marks.ts';
import { useAddress } from '../space-ref.ts';
import { eventsOf } from './review-queries.ts';

const fewDocuments = 4;

export function SidePassages({ entity }: { readonly entity: Entity }) {
  return (
    <Stack gap="sm" miw={0}>
      <Documents id={entity.id} />
      <Events id={entity.id} />
    </Stack>
  );
}

function Documents({ id }: { readonly id: string }) {
  const address = useAddress();
  const { data } = useRead('GET /api/v1/knowledge/entities/:id', { params: { id } });
  const documents = [...Map.groupBy(data?.mentions ?? [], (mention) => mention.artifact_id).values()];
  return (
    <div>
      <Title order={2} size="h6">
        Mentioned in
      </Title>
      <List size="sm" spacing={4} style={{ overflowWrap: 'anywhere' }}>
        {documents.slice(0, fewDocuments).map((mentions) => {
          const [first] = mentions;
          if (!first) return null;
          const places = mentions.flatMap(({ start_char: start, end_char: end }) =>
            start === null || end === null ? [] : [{ start, end }],
          );
          const forms = [...new Set(mentions.map((mention) => mention.surface_form))];
          return (
            <List.Item key={first.artifact_id}>
              <Anchor
                component={Link}
                href={address(`/artifacts/${first.artifact_id}`, {
                  at: places.length === 0 ? undefined : formatRanges(places.slice(0, 20)),
                })}
                inherit
              >
                {first.title === '' ? 'a document' : first.title}
              </Anchor>
              <Text span size="xs" c="dimmed">
                {' '}
                as {forms.map((form) => `“${form}”`).join(', ')}
              </Text>
            </List.Item>
          );
        })}
      </List>
      {documents.length > fewDocuments ? (
        <Text size="xs" c="dimmed">
          and {documents.length - fewDocuments} more
        </Text>
      ) : null}
    </div>
  );
}

function Events({ id }: { readonly id: string }) {
  const address = useAddress();
  const { data } = useRead('GET /api/v1/knowledge/events', eventsOf(id));
  if (data === undefined || data.events.length === 0) return null;
  return (
    <div>
      <Title order={2} size="h6">
        Latest events
      </Title>
      <Stack gap={6} style={{ overflowWrap: 'anywhere' }}>
        {data.events.map((event) => (
          <Text key={event.id} size="sm">
            <CategoryBadge category={event.category} />{' '}
            <Anchor
              component={Link}
              href={address(`/artifacts/${event.artifact_id}`, { event: event.id })}
              inherit
            >
              {event.narrative}
            </Anchor>
          </Text>
        ))}
      </Stack>
    </div>
  );
}
