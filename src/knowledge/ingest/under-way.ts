// Whether a revision is still worked on by the job that came with it: then others leave it alone.
import type { JobQueue } from '../../core/index.ts';
import type { ArtifactStore } from '../ports.ts';

export interface UnderWayParts {
  readonly artifacts: Pick<ArtifactStore, 'revision'>;
  readonly jobs: Pick<JobQueue, 'get'>;
}

/** True while its job waits or runs; a job that is gone has ended. */
export async function hasActiveJob(
  { artifacts, jobs }: UnderWayParts,
  { spaceId, revisionId }: { readonly spaceId: number; readonly revisionId: string },
): Promise<boolean> {
  const revision = await artifacts.revision(spaceId, revisionId);
  const job = revision?.jobId ? await jobs.get(revision.jobId) : null;
  return job?.state === 'queued' || job?.state === 'running';
}
