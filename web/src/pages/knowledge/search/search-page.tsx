// Search page: results with highlights, and optional graph expansion.
import type { SearchResponse } from '../../../../../src/api/knowledge.ts';
import { Alert, Code, Grid, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Empty, Shown } from '../../../components/states.tsx';
import { inSpace } from '../queries.ts';
import { EntityLink } from '../entities/entity-link.tsx';
import { useSpaceRef } from '../space-ref.ts';
import type { EntityType } from '../labels.ts';
import { counted } from '../../../components/format.ts';
import { HitCard } from './hit-card.tsx';
import { RelatedList } from './related-list.tsx';
import { SearchForm } from './search-form.tsx';
import type { SearchQuery } from './search-query.ts';
import { bodyOf, useSearchQuery } from './search-query.ts';

export function SearchPage() {
  const [searchQuery, setSearchQuery] = useSearchQuery();
  return (
    <Stack gap="md">
      <SearchForm searchQuery={searchQuery} onSearch={setSearchQuery} />
      {searchQuery.query === '' ? <EmptyState /> : <Results searchQuery={searchQuery} />}
    </Stack>
  );
}

function EmptyState() {
  return (
    <Empty title="Search your documents">
      Documents are searchable as soon as they are ingested. Add some under Artifacts, or with{' '}
      <Code>headworks ingest FOLDER</Code>.
    </Empty>
  );
}

function Results({ searchQuery }: { readonly searchQuery: SearchQuery }) {
  const spaceRef = useSpaceRef();
  const query = useQuery({
    // Not refetched on live events: results must not move while they are read.
    queryKey: ['knowledge-search', spaceRef, searchQuery],
    queryFn: () => inSpace(spaceRef, 'POST /api/v1/knowledge/search', { body: bodyOf(searchQuery) }),
    staleTime: 30_000,
  });
  return (
    <Shown what="the results" query={query}>
      {(answer) => <Answer searchQuery={searchQuery} answer={answer} />}
    </Shown>
  );
}

function Answer({
  searchQuery,
  answer,
}: {
  readonly searchQuery: SearchQuery;
  readonly answer: SearchResponse;
}) {
  const { primary_results: hits, related_context: related, entities, warning } = answer;
  return (
    <Stack gap="md">
      {warning === undefined ? null : (
        <Alert color="orange" title="Degraded results" p="xs">
          {warning}
        </Alert>
      )}
      {hits.length === 0 ? (
        <Empty title="No results">
          {searchQuery.type === null && searchQuery.category === null
            ? 'Try fewer or different words. Quoted phrases must match exactly.'
            : 'Try without filters, or different words.'}
        </Empty>
      ) : (
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: related === null ? 12 : 7 }}>
            <Title order={2} size="h4" mb="xs">
              <span role="status">{counted(hits.length, 'passage')}</span>
            </Title>
            <Stack gap="sm">
              {hits.map((hit) => (
                <HitCard key={hit.chunk_id} hit={hit} />
              ))}
            </Stack>
          </Grid.Col>
          {related === null ? null : (
            <Grid.Col span={{ base: 12, md: 5 }}>
              <Mentioned entities={entities ?? []} />
              <RelatedList related={related} />
            </Grid.Col>
          )}
        </Grid>
      )}
    </Stack>
  );
}

function Mentioned({ entities }: { readonly entities: NonNullable<SearchResponse['entities']> }) {
  if (entities.length === 0) return null;
  return (
    <Stack gap="xs" mb="lg">
      <Title order={2} size="h4">
        Entities
      </Title>
      <Group gap="xs">
        {entities.map(({ id, name, type, mentions }) => (
          <Text key={id} size="sm" component="span">
            <EntityLink id={id} name={name} type={type as EntityType} />
            {mentions > 1 ? (
              <Text span c="dimmed" size="xs">
                {' '}
                ×&#8239;{mentions}
              </Text>
            ) : null}
          </Text>
        ))}
      </Group>
    </Stack>
  );
}
