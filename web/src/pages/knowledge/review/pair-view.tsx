// A pair of possible duplicates side by side: score, reasons, attributes, passages.
import { Alert, Box, Grid, List, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { readOptions } from '../queries.ts';
import { useSpaceRef } from '../space-ref.ts';
import { likelyText } from '../labels.ts';
import type { ReviewPair } from './match-reasons.ts';
import { alsoCompared, matchReasons } from './match-reasons.ts';
import { PairFacts } from './pair-facts.tsx';
import { SidePassages } from './side-passages.tsx';
import { eventsOf } from './review-queries.ts';
import type { Verdict } from './review-session.ts';

const verdictLabels: Readonly<Record<Verdict, string>> = {
  same: 'Marked as same and merged.',
  different: 'Marked as different.',
  later: 'Postponed.',
};

export function PairView({
  pair,
  all,
  verdict,
  isSettled,
}: {
  readonly pair: ReviewPair;
  /** All open pairs. */
  readonly all: readonly ReviewPair[];
  readonly verdict: Verdict | null;
  /** Decided by another reviewer. */
  readonly isSettled: boolean;
}) {
  return (
    <Stack gap="md" component="article" aria-label={`${pair.a.canonical_name} and ${pair.b.canonical_name}`}>
      {verdict === null ? null : (
        <Alert color="blue" p="xs">
          {verdictLabels[verdict]}
        </Alert>
      )}
      {isSettled ? (
        <Alert color="orange" p="xs" role="status">
          This pair was decided elsewhere. Continue with the next one.
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

/** Prefetches the data of the next pair. */
export function usePairAhead(pair: ReviewPair | null): void {
  const spaceRef = useSpaceRef();
  const ids = pair === null ? [] : [pair.a.id, pair.b.id];
  useQueries({
    queries: ids.map((id) => readOptions(spaceRef, 'GET /api/v1/knowledge/entities/:id', { params: { id } })),
  });
  useQueries({
    queries: ids.map((id) => readOptions(spaceRef, 'GET /api/v1/knowledge/events', eventsOf(id))),
  });
}

function Evidence({ pair, all }: { readonly pair: ReviewPair; readonly all: readonly ReviewPair[] }) {
  const { reasonsFor, reasonsAgainst, onOneSide } = matchReasons(pair);
  return (
    <Paper withBorder p="sm">
      <Text size="sm" mb="xs">
        <Text span fw={600}>
          Match score {likelyText(pair.confidence)}.
        </Text>{' '}
        Reason for review: {pair.reason}
      </Text>
      {alsoCompared(pair, all).map((words) => (
        <Text key={words} size="sm" mb="xs">
          {words}
        </Text>
      ))}
      <Grid gap="sm">
        <Reasons title="For" reasons={reasonsFor} none="None." />
        <Reasons title="Against" reasons={reasonsAgainst} none="None." />
        <Reasons title="Only on one side" reasons={onOneSide} none="None." />
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
