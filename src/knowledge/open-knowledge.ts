// Puts ingest together: desks, the job that works on what was accepted, folders. Other parts come as ports.
import type { Clock, IdSource, JobQueue, Log } from '../core/index.ts';
import { kindOf } from '../core/index.ts';
import type { RegisteredRepair } from '../ledger/index.ts';
import { every } from '../resilience/index.ts';
import { Artifacts } from './artifacts/artifacts.ts';
import type { ArtifactDesk, EventService, FolderDesk, SpaceDesk } from './desk-ports.ts';
import type { DocumentReader } from './documents/read-wish.ts';
import { openEventService } from './events/event-store.ts';
import type { FolderFiles, FolderStore } from './folders/folder-ports.ts';
import { Folders } from './folders/folders.ts';
import { ingestHandler } from './ingest/ingest-handler.ts';
import { ingestJob } from './ingest/ingest-job.ts';
import type { StepParts } from './ingest/step-ports.ts';
import { folderRepairs } from './maintenance/folder-repairs.ts';
import type { KnowledgeOptions } from './options.ts';
import type { SpaceStore } from './ports.ts';
import { Spaces } from './spaces/spaces.ts';

export interface KnowledgeParts extends Omit<StepParts, 'spaces' | 'options'> {
  readonly spaces: SpaceStore;
  readonly folders: FolderStore;
  readonly files: FolderFiles;
  readonly documents: DocumentReader;
  /** A file of a folder that failed does not fail any more: its row of the ledger can be closed. */
  readonly onFileHealed?: () => void;
  readonly jobs: JobQueue;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly options: KnowledgeOptions;
}

export interface OpenKnowledge {
  readonly spaces: SpaceDesk;
  readonly artifacts: ArtifactDesk;
  readonly events: EventService;
  readonly folders: FolderDesk;
  /** Of files that could not be taken in. */
  readonly repairs: readonly RegisteredRepair[];
  /** Takes accepted artifacts in this process. */
  work(): Promise<void>;
  /** Reads watched folders every few seconds and others on their schedules, until the returned function is called. */
  watchFolders(): () => void;
}

/** Watched means looked at so often. */
const lookEveryMs = 5_000;

/** Makes the job known; runs nothing before `work`. */
export async function openKnowledge(parts: KnowledgeParts): Promise<OpenKnowledge> {
  const { jobs, options, clock, log, graph } = parts;
  const job = ingestJob(options.concurrency);
  await jobs.define([job]);
  const artifacts = new Artifacts({
    ...parts,
    store: parts.artifacts,
    job,
    maxDocumentBytes: options.maxDocumentBytes,
  });
  const onHealed = (): void => parts.onFileHealed?.();
  const folders = new Folders({ ...parts, store: parts.folders, artifacts, onHealed });
  return {
    spaces: new Spaces({
      store: parts.spaces,
      onRemoved: ({ spaceId }) => graph.forgetSpace(spaceId),
    }),
    artifacts,
    events: openEventService(parts.events),
    folders,
    repairs: folderRepairs(folders),
    work: () => jobs.work(job, ingestHandler(parts)),
    watchFolders: () => {
      const stop = new AbortController();
      const look = (): Promise<void> =>
        folders.readDue(stop.signal).catch((error: unknown) => {
          if (!stop.signal.aborted) log.warn('folders could not be looked at', { cause: kindOf(error) });
        });
      const end = every(clock, lookEveryMs, look);
      return () => {
        stop.abort();
        end();
      };
    },
  };
}
