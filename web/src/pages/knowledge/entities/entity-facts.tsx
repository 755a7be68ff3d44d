// Attributes of an entity.
import type { Entity } from '../../../../../src/api/entities.ts';
import { Box, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Ago } from '../../../components/time.tsx';

export function EntityFacts({ entity }: { readonly entity: Entity }) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Aliases', entity.aliases.length === 0 ? null : entity.aliases.join(', ')],
    ['Role', entity.role],
    ['Organization', entity.organization],
    ['Email', entity.email],
    ['Notes', entity.context_clues.length === 0 ? null : entity.context_clues.join('; ')],
    ['Embedding model', entity.embedding_model ?? 'none'],
    ['First seen', <Ago key="ago" at={entity.created_at} />],
  ];
  return (
    <Box
      component="dl"
      m={0}
      style={{ display: 'grid', gridTemplateColumns: 'repeat(auto-fill, minmax(220px, 1fr))', gap: 12 }}
    >
      {facts
        .filter(([, value]) => value !== null)
        .map(([word, value]) => (
          <div key={word}>
            <Text component="dt" size="xs" c="dimmed">
              {word}
            </Text>
            <Text component="dd" m={0} size="sm" style={{ overflowWrap: 'anywhere' }}>
              {value}
            </Text>
          </div>
        ))}
    </Box>
  );
}
