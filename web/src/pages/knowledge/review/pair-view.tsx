// Two that may be the same, side by side: what speaks for it, what against, and what is known of each.
import { Alert, Box, Grid, List, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { readOptions } from '../ask.ts';
import { usePlace } from '../place.ts';
import { likelyText } from '../words.ts';
import type { ReviewPair } from './evidence-words.ts';
import { alsoCompared, evidenceWords } from './evidence-words.ts';
import { PairFacts } from './pair-facts.tsx';
import { SidePassages } from './side-passages.tsx';
import { passagesOf } from './review-queries.ts';
import type { Verdict } from './sitting.ts';

const verdictWords: Readonly<Record<Verdict, string>> = {
  same: 'You said: the same. They are merged.',
  different: 'You said: different. They are not asked about again.',
  later: 'You put it off.',
};

export function PairView({
  pair,
  all,
  verdict,
  isSettled,
}: {
  readonly pair: ReviewPair;
  /** That wait for an answer. */
  readonly all: readonly ReviewPair[];
  readonly verdict: Verdict | null;
  /** By somebody else. */
  readonly isSettled: boolean;
}) {
  return (
    <Stack gap="md" component="article" aria-label={`${pair.a.canonical_name} and ${pair.b.canonical_name}`}>
      {verdict === null ? null : (
        <Alert color="blue" p="xs">
          {verdictWords[verdict]}
        </Alert>
      )}
      {isSettled ? (
        <Alert color="orange" p="xs" role="status">
          This one was answered meanwhile, elsewhere or with another. Go on to the next.
        </Alert>
      ) : null}
      <Evidence pair={pair} all={all} />
      <PairFacts a={pair.a} b={pair.b} />
      <SimpleGrid cols={2} spacing="md">
        <SidePassages entity={pair.a} />
        <SidePassages entity={pair.b} />
      </SimpleGrid>
    </Stack>
  );
}

/** Reads what the next pair will show, so that it is there when it comes. */
export function usePairAhead(pair: ReviewPair | null): void {
  const place = usePlace();
  const ids = pair === null ? [] : [pair.a.entity_id, pair.b.entity_id];
  useQueries({
    queries: ids
      .flatMap((id) => passagesOf(id))
      .map(({ path, query }) => readOptions<unknown>(place, path, query)),
  });
}

function Evidence({ pair, all }: { readonly pair: ReviewPair; readonly all: readonly ReviewPair[] }) {
  const { speaksFor, speaksAgainst, notKnown } = evidenceWords(pair);
  return (
    <Paper withBorder p="sm">
      <Text size="sm" mb="xs">
        <Text span fw={600}>
          By what is counted below: {likelyText(pair.confidence)} likely the same.
        </Text>{' '}
        Why it is asked: {pair.reason}
      </Text>
      {alsoCompared(pair, all).map((words) => (
        <Text key={words} size="sm" mb="xs">
          {words}
        </Text>
      ))}
      <Grid gap="sm">
        <Reasons title="For" reasons={speaksFor} none="Nothing in particular." />
        <Reasons title="Against" reasons={speaksAgainst} none="Nothing that is known." />
        <Reasons title="Known of one only" reasons={notKnown} none="Nothing." />
      </Grid>
    </Paper>
  );
}

function Reasons({
  title,
  reasons,
  none,
}: {
  readonly title: string;
  readonly reasons: readonly string[];
  readonly none: string;
}) {
  return (
    <Grid.Col span={{ base: 12, sm: 4 }}>
      <Title order={2} size="h6">
        {title}
      </Title>
      {reasons.length === 0 ? (
        <Text size="sm" c="dimmed">
          {none}
        </Text>
      ) : (
        <Box style={{ overflowWrap: 'anywhere' }}>
          <List size="sm">
            {reasons.map((reason) => (
              <List.Item key={reason}>{reason}</List.Item>
            ))}
          </List>
        </Box>
      )}
    </Grid.Col>
  );
}
