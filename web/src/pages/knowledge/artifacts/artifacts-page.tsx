// Artifacts of a space, newest first, with their processing status.
import type { ArtifactStatuses, Artifacts } from '../../../../../src/api/artifacts.ts';
import { Anchor, Code, Stack } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { Link } from 'wouter';
import { Empty, Shown } from '../../../components/states.tsx';
import { numberText } from '../../../components/format.ts';
import { DataTable, Detail, type Column } from '../../../components/table.tsx';
import { Ago } from '../../../components/time.tsx';
import { readOptions, useList } from '../queries.ts';
import { useAddress, useSpaceRef } from '../space-ref.ts';
import { artifactTypeLabels } from '../labels.ts';
import { ArtifactState, stepsText } from './artifact-status.tsx';
import { IngestBox } from './ingest-box.tsx';
import { ShowMore } from '../../../components/show-more.tsx';

type Row = Artifacts['artifacts'][number];
type Status = ArtifactStatuses['statuses'][number]['status'];

const pageSize = 25;

export function ArtifactsPage() {
  const list = useList('GET /api/v1/knowledge/artifacts', { query: { limit: pageSize } });
  return (
    <Stack gap="md">
      <IngestBox />
      <Shown
        what="the artifacts"
        query={list}
        isEmpty={(pages) => pages.every(({ artifacts }) => artifacts.length === 0)}
        empty={
          <Empty title="No artifacts yet">
            Paste text or drop a file above, or run <Code>headworks ingest FOLDER</Code>.
          </Empty>
        }
      >
        {(pages) => (
          <div>
            <ArtifactTable pages={pages} />
            <ShowMore of={list} />
          </div>
        )}
      </Shown>
    </Stack>
  );
}

function ArtifactTable({ pages }: { readonly pages: readonly Artifacts[] }) {
  const address = useAddress();
  const statuses = useStatuses(pages);
  const steps = ({ id }: Row): string => {
    const status = statuses.get(id);
    return status === undefined ? '…' : stepsText(status);
  };
  const columns: readonly Column<Row>[] = [
    {
      title: 'Title',
      cell: (artifact) => (
        <>
          <Anchor component={Link} href={address(`/artifacts/${artifact.id}`)} size="sm" fw={600}>
            {artifact.title === '' ? artifact.source_id : artifact.title}
          </Anchor>
          <Detail>
            {artifact.source_system}: {artifact.source_id}
          </Detail>
          <Detail isNarrowOnly>
            {artifactTypeLabels[artifact.type]}, <Ago at={artifact.ingested_at} />
          </Detail>
        </>
      ),
    },
    { title: 'Type', isWideOnly: true, cell: ({ type }) => artifactTypeLabels[type] },
    {
      title: 'State',
      cell: (artifact) => {
        const status = statuses.get(artifact.id);
        return (
          <>
            {status === undefined ? '…' : <ArtifactState status={status} />}
            <Detail isNarrowOnly>{steps(artifact)}</Detail>
          </>
        );
      },
    },
    {
      title: 'Chunks',
      kind: 'number',
      isWideOnly: true,
      cell: ({ chunk_count: count }) => numberText(count),
    },
    { title: 'Steps', isWideOnly: true, cell: steps },
    { title: 'Ingested', isWideOnly: true, cell: ({ ingested_at: at }) => <Ago at={at} /> },
  ];
  return (
    <DataTable
      label="Artifacts"
      columns={columns}
      rows={pages.flatMap(({ artifacts }) => artifacts)}
      keyOf={(artifact) => artifact.revision_id}
    />
  );
}

/** Statuses are loaded page by page, like the list. */
function useStatuses(pages: readonly Artifacts[]): ReadonlyMap<string, Status> {
  const spaceRef = useSpaceRef();
  const results = useQueries({
    queries: pages
      .filter(({ artifacts }) => artifacts.length > 0)
      .map(({ artifacts }) =>
        readOptions(spaceRef, 'GET /api/v1/knowledge/artifacts/statuses', {
          query: { ids: artifacts.map(({ id }) => id).join(',') },
        }),
      ),
  });
  return new Map(results.flatMap(({ data }) => data?.statuses.map(({ id, status }) => [id, status]) ?? []));
}
