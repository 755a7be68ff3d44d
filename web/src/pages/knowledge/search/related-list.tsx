// Graph expansion of the results: events that share an actor or subject with them.
import type { SearchResponse } from '../../../../../src/api/knowledge.ts';
import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import { dateText } from '../../../components/time.tsx';
import { Link } from 'wouter';
import { CategoryBadge } from '../category-badge.tsx';
import { useAddress } from '../space-ref.ts';

type Related = NonNullable<SearchResponse['related_context']>[number];

export function RelatedList({ related }: { readonly related: readonly Related[] }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Related events
      </Title>
      {related.length === 0 ? (
        <Text size="sm" c="dimmed">
          No events share an actor or subject with these results.
        </Text>
      ) : (
        related.map((item) => <RelatedItem key={item.id} item={item} />)
      )}
    </Stack>
  );
}

function RelatedItem({ item }: { readonly item: Related }) {
  const address = useAddress();
  return (
    <Paper withBorder p="xs" component="article">
      <Text size="xs" c="dimmed">
        <CategoryBadge category={item.category} /> {reasonLabel(item.reason)}
        {item.event_time === null ? '' : `, ${dateText(item.event_time)}`}
      </Text>
      <Anchor
        component={Link}
        href={address(`/artifacts/${item.artifact_id}`, { event: item.id })}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {item.summary}
      </Anchor>
    </Paper>
  );
}

/** Label for a reason like `same_actor:Alice Chen`. */
function reasonLabel(reason: string): string {
  const [kind = '', ...name] = reason.split(':');
  if (kind === 'same_actor') return `also by ${name.join(':')}`;
  return kind === 'same_subject' ? `also about ${name.join(':')}` : reason;
}
