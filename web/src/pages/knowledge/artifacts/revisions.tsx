// Revisions of a document, if there are several.
import { List, Text } from '@mantine/core';
import { Section } from '../../../components/states.tsx';
import { Ago } from '../../../components/time.tsx';
import { useRead } from '../queries.ts';
import { counted } from '../../../components/format.ts';

export function Revisions({ id }: { readonly id: string }) {
  const { data } = useRead('GET /api/v1/knowledge/artifacts/:id/revisions', { params: { id } });
  if (data === undefined || data.revisions.length < 2) return null;
  return (
    <Section order={3} title={counted(data.revisions.length, 'revision')}>
      <List size="sm">
        {data.revisions.map((revision) => (
          <List.Item key={revision.revision_id}>
            <Ago at={revision.ingested_at} />, {counted(revision.token_count, 'token')}
            <Text span size="xs" c="dimmed">
              {revision.is_latest ? ' current' : ' superseded'}
            </Text>
          </List.Item>
        ))}
      </List>
    </Section>
  );
}
