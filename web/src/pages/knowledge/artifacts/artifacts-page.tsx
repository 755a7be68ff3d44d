// Artifacts of a space, newest first, with their processing status.
import type { ArtifactStatuses, Artifacts } from '../../../../../src/api/artifacts.ts';
import { Anchor, Code, Stack, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { Empty, Shown } from '../../../parts/states.tsx';
import { useIsNarrow } from '../../../parts/narrow.ts';
import { Ago } from '../../../parts/time.tsx';
import { useList, useRead } from '../queries.ts';
import { useAddress } from '../place.ts';
import { artifactTypeLabels } from '../labels.ts';
import { StateBadge, stepsText } from './artifact-status.tsx';
import { IngestBox } from './ingest-box.tsx';
import { ShowMore } from '../../../parts/show-more.tsx';

type Row = Artifacts['artifacts'][number];
type Status = ArtifactStatuses['statuses'][number]['status'];

const pageSize = 25;

export function ArtifactsPage() {
  const list = useList<Artifacts>('/artifacts', { limit: pageSize });
  return (
    <Stack gap="md">
      <IngestBox />
      <Shown
        what="the artifacts"
        query={list}
        isEmpty={(pages) => pages.every(({ artifacts }) => artifacts.length === 0)}
        empty={
          <Empty title="No documents yet">
            Paste text or drop a file above, or run <Code>headworks ingest FOLDER</Code>.
          </Empty>
        }
      >
        {(pages) => (
          <>
            <ArtifactTable pages={pages} />
            <ShowMore of={list} />
          </>
        )}
      </Shown>
    </Stack>
  );
}

function ArtifactTable({ pages }: { readonly pages: readonly Artifacts[] }) {
  const isNarrow = useIsNarrow();
  return (
    <Table.ScrollContainer minWidth={isNarrow ? 0 : 640} type="native">
      <Table verticalSpacing={6} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Title</Table.Th>
            {isNarrow ? null : <Table.Th>Type</Table.Th>}
            <Table.Th>State</Table.Th>
            {isNarrow ? null : (
              <>
                <Table.Th ta="right">Chunks</Table.Th>
                <Table.Th>Steps</Table.Th>
                <Table.Th>Ingested</Table.Th>
              </>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {pages.map(({ artifacts }, index) => (
            <PageRows key={artifacts[0]?.revision_id ?? index} artifacts={artifacts} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** Statuses are loaded page by page, like the list. */
function PageRows({ artifacts }: { readonly artifacts: readonly Row[] }) {
  const { data } = useRead<ArtifactStatuses>(
    '/artifacts/statuses',
    { ids: artifacts.map((each) => each.id).join(',') },
    { isEnabled: artifacts.length > 0 },
  );
  const statuses = new Map(data?.statuses.map((each) => [each.id, each.status]));
  return artifacts.map((artifact) => (
    <ArtifactRow key={artifact.revision_id} artifact={artifact} status={statuses.get(artifact.id)} />
  ));
}

function ArtifactRow({ artifact, status }: { readonly artifact: Row; readonly status: Status | undefined }) {
  const address = useAddress();
  const isNarrow = useIsNarrow();
  const kind = artifactTypeLabels[artifact.type];
  const steps = (
    <Text size="xs" c="dimmed">
      {status === undefined ? '…' : stepsText(status)}
    </Text>
  );
  const when = (
    <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
      <Ago at={artifact.ingested_at} />
    </Text>
  );
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} href={address(`/artifacts/${artifact.id}`)} size="sm" fw={500}>
          {artifact.title === '' ? artifact.source_id : artifact.title}
        </Anchor>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }} lineClamp={1}>
          {isNarrow ? `${kind} from ` : ''}
          {artifact.source_system}: {artifact.source_id}
        </Text>
        {isNarrow ? when : null}
      </Table.Td>
      {isNarrow ? null : <Table.Td>{kind}</Table.Td>}
      <Table.Td>
        {status === undefined ? '…' : <StateBadge status={status} />}
        {isNarrow ? steps : null}
      </Table.Td>
      {isNarrow ? null : (
        <>
          <Table.Td ta="right">{artifact.chunk_count}</Table.Td>
          <Table.Td>{steps}</Table.Td>
          <Table.Td>{when}</Table.Td>
        </>
      )}
    </Table.Tr>
  );
}
