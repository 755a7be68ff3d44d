// Revisions of a document, if there are several.
import type { Revisions } from '../../../../../src/api/artifacts.ts';
import { List, Text, Title } from '@mantine/core';
import { Ago } from '../../../parts/time.tsx';
import { useRead } from '../queries.ts';
import { counted } from '../labels.ts';

export function Revisions({ id }: { readonly id: string }) {
  const { data } = useRead<Revisions>(`/artifacts/${id}/revisions`);
  if (data === undefined || data.revisions.length < 2) return null;
  return (
    <section aria-labelledby="revisions">
      <Title order={3} size="h5" mb="xs" id="revisions">
        {counted(data.revisions.length, 'revision')}
      </Title>
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
    </section>
  );
}
