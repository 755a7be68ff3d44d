// Searching: what was found, on wish what the graph adds to it, with the words marked where they stand.
import { Alert, Code, Grid, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { SearchResultsAnswer } from '../../../../../src/http/contract.ts';
import { Empty, Shown } from '../../../parts/states.tsx';
import { change } from '../ask.ts';
import { EntityLink } from '../entities/entity-link.tsx';
import { usePlace } from '../place.ts';
import type { EntityType } from '../words.ts';
import { counted } from '../words.ts';
import { HitCard } from './hit-card.tsx';
import { RelatedList } from './related-list.tsx';
import { SearchForm } from './search-form.tsx';
import type { Wish } from './search-wish.ts';
import { bodyOf, useWish } from './search-wish.ts';

export function SearchPage() {
  const [wish, setWish] = useWish();
  return (
    <Stack gap="md">
      <SearchForm wish={wish} onSearch={setWish} />
      {wish.query === '' ? <Nothing /> : <Results wish={wish} />}
    </Stack>
  );
}

function Nothing() {
  return (
    <Empty title="What would you like to know?">
      Ask in words: documents are found the moment they are taken in. Bring some under Artifacts, or with{' '}
      <Code>headworks ingest FOLDER</Code>.
    </Empty>
  );
}

function Results({ wish }: { readonly wish: Wish }) {
  const place = usePlace();
  const query = useQuery({
    // Not by live events: results should stay where they are while somebody reads them.
    queryKey: ['knowledge-search', place, wish],
    queryFn: () => change<SearchResultsAnswer>(place, 'POST', '/search', bodyOf(wish)),
    staleTime: 30_000,
  });
  return (
    <Shown what="the results" query={query}>
      {(answer) => <Answer wish={wish} answer={answer} />}
    </Shown>
  );
}

function Answer({ wish, answer }: { readonly wish: Wish; readonly answer: SearchResultsAnswer }) {
  const { primary_results: hits, related_context: related, entities, warning } = answer;
  return (
    <Stack gap="md">
      {warning === undefined ? null : (
        <Alert color="orange" title="Something was left out" p="xs">
          {warning}
        </Alert>
      )}
      {hits.length === 0 ? (
        <Empty title="Nothing was found">
          {wish.type === null && wish.category === null
            ? 'Try fewer or other words; words in quotes must stand there exactly.'
            : 'Try without the filters, or other words.'}
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

function Mentioned({ entities }: { readonly entities: NonNullable<SearchResultsAnswer['entities']> }) {
  if (entities.length === 0) return null;
  return (
    <Stack gap="xs" mb="lg">
      <Title order={2} size="h4">
        Mentioned
      </Title>
      <Group gap="xs">
        {entities.map(({ entity_id: id, name, type, mentions }) => (
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
