import { describe, expect, it } from 'vitest';
import {
  graphDegradations,
  ingestDegradations,
  resolutionDegradations,
  searchDegradations,
} from './degradations.ts';
import { graphRebuildJob } from './graph/graph-sync.ts';
import { reembedJob } from './ingest/embed-step.ts';
import { ingestJob } from './ingest/ingest-job.ts';
import { backfillJob } from './maintenance/backfill.ts';

describe('stored names', () => {
  it('of ledger kinds never change: open rows of other names would have no repair', () => {
    const kinds = [ingestDegradations, resolutionDegradations, graphDegradations, searchDegradations];
    expect(kinds.flatMap((each) => Object.values(each)).sort()).toEqual([
      'knowledge.candidates-unknown',
      'knowledge.chunk-lookup-failed',
      'knowledge.chunk-not-embedded',
      'knowledge.chunk-not-read',
      'knowledge.chunk-read-by-rules',
      'knowledge.confirmation-failed',
      'knowledge.entity-embedding-missing',
      'knowledge.expansion-failed',
      'knowledge.file-not-ingested',
      'knowledge.graph-failed',
      'knowledge.graph-skipped',
      'knowledge.reading-truncated',
      'knowledge.resolution-failed',
      'knowledge.search-without-vectors',
    ]);
  });

  it('of jobs never change: queued and scheduled jobs of other names would not run', () => {
    const jobs = [ingestJob(1), reembedJob, backfillJob, graphRebuildJob];
    expect(jobs.map(({ name }) => name)).toEqual([
      'knowledge.ingest',
      'knowledge.reembed',
      'knowledge.backfill',
      'knowledge.graph-rebuild',
    ]);
  });
});
