// Attributes of both entities side by side; equal values are labeled.
import type { Entity } from '../../../../../src/api/entities.ts';
import { Box, Group, Text } from '@mantine/core';
import { Fragment } from 'react';
import { EntityLink } from '../entities/entity-link.tsx';
import { counted } from '../../../components/format.ts';
import { entityTypeLabels } from '../labels.ts';

const listed = (values: readonly string[]): string | null => (values.length === 0 ? null : values.join(', '));

const rows: readonly (readonly [string, (entity: Entity) => string | null])[] = [
  ['Type', ({ type }) => entityTypeLabels[type]],
  ['Aliases', ({ aliases }) => listed(aliases)],
  ['Role', ({ role }) => role],
  ['Organization', ({ organization }) => organization],
  ['Email', ({ email }) => email],
  ['Notes', ({ context_clues: clues }) => listed(clues)],
  [
    'Seen in',
    ({ mention_count: mentions, event_count: events }) =>
      `${counted(mentions, 'mention')}, ${counted(events, 'event')}`,
  ],
];

export function PairFacts({ a, b }: { readonly a: Entity; readonly b: Entity }) {
  return (
    <Box
      style={{
        display: 'grid',
        gridTemplateColumns: 'minmax(0, 1fr) minmax(0, 1fr)',
        columnGap: 16,
        rowGap: 2,
      }}
    >
      {[a, b].map((entity) => (
        <Text key={entity.id} fw={700} fz="lg" component="div">
          <EntityLink id={entity.id} name={entity.canonical_name} />
        </Text>
      ))}
      {rows
        .map(([word, read]) => [word, read(a), read(b)] as const)
        .filter(([, left, right]) => left !== null || right !== null)
        .map(([word, left, right]) => (
          <Fragment key={word}>
            <Group gap={6} mt={6} style={{ gridColumn: '1 / -1' }}>
              <Text size="xs" c="dimmed">
                {word}
                {word !== 'Seen in' && left !== null && left === right ? ' (same)' : ''}
              </Text>
            </Group>
            <Value of={left} />
            <Value of={right} />
          </Fragment>
        ))}
    </Box>
  );
}

const Value = ({ of }: { readonly of: string | null }) => (
  <Text size="sm" c={of === null ? 'dimmed' : undefined} style={{ overflowWrap: 'anywhere' }}>
    {of ?? 'unknown'}
  </Text>
);
