// Search result with highlights; the title links to the place in the document.
import type { SearchResponse } from '../../../../../src/api/knowledge.ts';
import { Anchor, Group, Paper, Text } from '@mantine/core';
import { dateText } from '../../../components/time.tsx';
import { Link } from 'wouter';
import { MarkedText } from '../marked-text.tsx';
import { formatRanges } from '../marks.ts';
import { useAddress } from '../space-ref.ts';
import { artifactTypeLabels } from '../labels.ts';
import { passageOf } from './passage.ts';

type Hit = SearchResponse['primary_results'][number];

/** Maximum marks in an address. */
const maxMarks = 40;

export function HitCard({ hit }: { readonly hit: Hit }) {
  const address = useAddress();
  const passage = passageOf(hit.text, hit.highlights);
  return (
    <Paper withBorder p="sm" component="article">
      <Group justify="space-between" gap={4} wrap="wrap">
        <Anchor
          component={Link}
          href={address(`/artifacts/${hit.artifact_id}`, { at: placesOf(hit) })}
          fw={600}
        >
          {hit.title === '' ? hit.source_id : hit.title}
        </Anchor>
        <Text size="xs" c="dimmed">
          {artifactTypeLabels[hit.type]}
          {hit.source_ts === null ? '' : `, ${dateText(hit.source_ts)}`}
        </Text>
      </Group>
      {hit.heading === null || hit.heading === hit.title ? null : (
        <Text size="xs" c="dimmed">
          {hit.heading}
        </Text>
      )}
      <Text size="sm" mt={4} style={{ overflowWrap: 'anywhere' }}>
        {passage.isCutBefore ? '… ' : ''}
        <MarkedText text={passage.text} marks={passage.marks} />
        {passage.isCutAfter ? ' …' : ''}
      </Text>
    </Paper>
  );
}

/** Ranges in the document: the matched words, or the whole passage without literal matches. */
function placesOf({ start_char: from, end_char: to, highlights }: Hit): string {
  const words = highlights
    .slice(0, maxMarks)
    .map(({ start, end }) => ({ start: from + start, end: from + end }));
  return formatRanges(words.length === 0 ? [{ start: from, end: to }] : words);
}
