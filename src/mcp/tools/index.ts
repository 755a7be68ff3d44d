// Every tool, in the order in which they are listed.
import type { CallerKind } from '../ports.ts';
import type { Tool } from '../tool.ts';
import { getArtifact } from './get-artifact.ts';
import { getEntity } from './get-entity.ts';
import { ingest } from './ingest.ts';
import { jobStatus } from './job-status.ts';
import { ledger } from './ledger.ts';
import { listEvents } from './list-events.ts';
import { mergeEntities } from './merge-entities.ts';
import { reviewQueue } from './review-queue.ts';
import { search } from './search.ts';
import { status } from './status.ts';

export const allTools: readonly Tool[] = [
  search,
  getArtifact,
  listEvents,
  getEntity,
  ingest,
  jobStatus,
  reviewQueue,
  mergeEntities,
  ledger,
  status,
];

/** Those that this caller may use. */
export const toolsFor = (caller: CallerKind): readonly Tool[] =>
  allTools.filter(({ access }) => access === 'tenant' || caller === 'admin');
