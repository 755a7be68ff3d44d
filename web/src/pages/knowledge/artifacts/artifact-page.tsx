// One document: text with marks, processing status, extracted events, revisions.
import type { KnowledgeEvents } from '../../../../../src/api/knowledge.ts';
import type { Artifact } from '../../../../../src/api/artifacts.ts';
import { Alert, Chip, Grid, Group, List, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { ConfirmButton, useAction } from '../../../components/action.tsx';
import { Empty, Section, Shown } from '../../../components/states.tsx';
import { Ago, dateText } from '../../../components/time.tsx';
import { inSpace, useRead } from '../queries.ts';
import { EventList } from '../event-list.tsx';
import '../knowledge.css';
import { parseRanges } from '../marks.ts';
import { useAddress, useSpaceRef } from '../space-ref.ts';
import { counted } from '../../../components/format.ts';
import { artifactTypeLabels } from '../labels.ts';
import { ArtifactStatus, ArtifactState } from './artifact-status.tsx';
import { targetMarks, evidenceMarks, useNameMarks } from './document-marks.ts';
import { DocumentView } from './document-view.tsx';
import { Revisions } from './revisions.tsx';

const maxEvents = 200;
const noEvents: KnowledgeEvents['events'] = [];

export function ArtifactPage({ id }: { readonly id: string }) {
  const query = useRead('GET /api/v1/knowledge/artifacts/:id', { params: { id } });
  return (
    <Shown what="the document" query={query}>
      {(artifact) => <Artifact artifact={artifact} />}
    </Shown>
  );
}

function Artifact({ artifact }: { readonly artifact: Artifact }) {
  const { id: uid } = artifact;
  const events = useRead('GET /api/v1/knowledge/events', { query: { artifact_id: uid, limit: maxEvents } });
  return (
    <Stack gap="md">
      <Header artifact={artifact} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 7, lg: 8 }}>
          <MarkedDocument artifact={artifact} events={events.data?.events ?? noEvents} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5, lg: 4 }}>
          <Stack gap="lg">
            <Section order={3} title="Processing status">
              <ArtifactStatus status={artifact.status} />
            </Section>
            <Section order={3} title="Events">
              <Shown
                what="the events"
                query={events}
                isEmpty={(data) => data.events.length === 0}
                empty={<EmptyState artifact={artifact} />}
              >
                {(data) => <EventList events={data.events} />}
              </Shown>
            </Section>
            <Revisions id={uid} />
          </Stack>
        </Grid.Col>
      </Grid>
    </Stack>
  );
}

function EmptyState({ artifact }: { readonly artifact: Artifact }) {
  return artifact.status.steps.read.queued > 0 ? (
    <Empty title="No events yet">Events are being read.</Empty>
  ) : (
    <Empty title="No events">Nothing in this document was recognized as an event.</Empty>
  );
}

function Header({ artifact }: { readonly artifact: Artifact }) {
  const { id: uid, title, source_id: sourceId, warnings } = artifact;
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Title order={2} size="h3" style={{ overflowWrap: 'anywhere' }}>
          {title === '' ? sourceId : title}
        </Title>
        <RemoveButton uid={uid} />
      </Group>
      <Group gap="sm">
        <ArtifactState status={artifact.status} />
        <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {artifactTypeLabels[artifact.type]}
          {artifact.source_ts === null ? '' : ` of ${dateText(artifact.source_ts)}`}, from{' '}
          {artifact.source_system}: {sourceId}; {counted(artifact.chunk_count, 'chunk')},{' '}
          {counted(artifact.token_count, 'token')}; ingested <Ago at={artifact.ingested_at} />
        </Text>
      </Group>
      {warnings.length === 0 ? null : (
        <Alert color="orange" p="xs" title="Parts of the file were not read">
          <List size="sm">
            {warnings.map((warning) => (
              <List.Item key={warning}>{warning}</List.Item>
            ))}
          </List>
        </Alert>
      )}
    </Stack>
  );
}

function RemoveButton({ uid }: { readonly uid: string }) {
  const spaceRef = useSpaceRef();
  const address = useAddress();
  const [, go] = useLocation();
  const removing = useAction(
    async () => {
      await inSpace(spaceRef, 'DELETE /api/v1/knowledge/artifacts/:id', { params: { id: uid } });
      go(address('/artifacts'));
    },
    { stale: ['knowledge'], done: () => 'Document deleted.' },
  );
  return (
    <ConfirmButton
      label="Delete artifact"
      variant="subtle"
      color="red"
      size="xs"
      loading={removing.isRunning}
      question="Deletes the document with its events, its mentions, and the entities that no other document mentions. This cannot be undone."
      onConfirm={() => removing.run(undefined)}
    />
  );
}

function MarkedDocument({
  artifact,
  events,
}: {
  readonly artifact: Artifact;
  readonly events: KnowledgeEvents['events'];
}) {
  const [params] = useSearchParams();
  const [shown, setShown] = useState(['evidence', 'names']);
  const names = useNameMarks(artifact.id, events);
  const target = params.get('event');
  const evidence = evidenceMarks(events, target);
  const marks = [
    ...targetMarks(parseRanges(params.get('at'))),
    ...evidence.filter(({ kind }) => kind === 'target' || shown.includes('evidence')),
    ...(shown.includes('names') ? names : []),
  ];
  return (
    <Stack gap="xs">
      <Chip.Group multiple value={shown} onChange={setShown}>
        <Group gap="xs">
          <Chip value="evidence" size="xs" variant="outline">
            Evidence ({evidence.length})
          </Chip>
          <Chip value="names" size="xs" variant="outline">
            Names ({names.length})
          </Chip>
        </Group>
      </Chip.Group>
      <DocumentView text={artifact.text} marks={marks} />
    </Stack>
  );
}
