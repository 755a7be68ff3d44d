// Artifacts, their revisions, chunks, and what has been done with each of them.
import type { DroppedCount, StructuredMention } from '../reading/types.ts';
import type { Space } from '../spaces/types.ts';

export const artifactTypes = ['email', 'doc', 'chat', 'transcript', 'note'] as const;
export type ArtifactType = (typeof artifactTypes)[number];

/** A document as text, ready to be taken in. */
export interface ParsedDocument {
  readonly type: ArtifactType;
  /** `upload`, `files`, `vault:NAME`, … */
  readonly sourceSystem: string;
  /** What the source calls it; the same again with other content is a new revision. */
  readonly sourceId: string;
  readonly title: string;
  readonly text: string;
  /** When the source says it was written. */
  readonly sourceTs: Date | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What reading the file left out, in sentences. */
  readonly warnings: readonly string[];
  /** Known without reading the text: owner, folder, author, recipient, … */
  readonly mentions: readonly StructuredMention[];
}

/** Offsets are UTF-16 units into the revision's text, so that `text === revision.text.slice(startChar, endChar)`. */
export interface ChunkDraft {
  readonly position: number;
  readonly startChar: number;
  readonly endChar: number;
  readonly tokenCount: number;
  /** The headings above it, outermost first, joined by ` › `. */
  readonly heading: string | null;
  readonly text: string;
}

export interface Chunk extends ChunkDraft {
  readonly chunkId: number;
  readonly spaceId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
}

export const chunkSteps = ['index', 'read', 'embed', 'graph'] as const;
export type ChunkStep = (typeof chunkSteps)[number];

/** `failed`: tried and not done, with a row in the ledger. `skipped`: cannot be done now (the part is away). */
export type StepStatus = 'done' | 'failed' | 'skipped';

export interface ChunkStepResult {
  readonly chunkId: number;
  readonly step: ChunkStep;
  readonly status: StepStatus;
  /** read: `model`, `rules`, or `structured` (data without a sentence); embed: the model's name. */
  readonly method?: string;
  /** Why it is not done; of a chunk that rules read: why no model did, where one was asked. */
  readonly cause?: string;
  readonly message?: string;
  /** read: what was listed and not taken; absent where all of it was. */
  readonly dropped?: readonly DroppedCount[];
}

export interface Revision {
  readonly revisionId: string;
  readonly artifactUid: string;
  readonly spaceId: number;
  readonly type: ArtifactType;
  readonly sourceSystem: string;
  readonly sourceId: string;
  readonly contentHash: string;
  readonly title: string;
  readonly sourceTs: Date | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
  readonly tokenCount: number;
  readonly chunkCount: number;
  readonly isLatest: boolean;
  readonly jobId: string | null;
  readonly ingestedAt: Date;
}

/** `processing` while its job has work to do; `complete` when every step of every chunk is done (or not configured). */
export type ArtifactState = 'processing' | 'complete' | 'partial';

/** Exactly which parts are in, and which are missing and why. */
export interface ArtifactStatus {
  readonly state: ArtifactState;
  readonly chunks: number;
  readonly steps: Readonly<
    Record<
      ChunkStep,
      { readonly done: number; readonly failed: number; readonly skipped: number; readonly pending: number }
    >
  >;
  /** Chunks that were read by rules because no model was to be had. */
  readonly readByRules: number;
  /** Of these, those that a model was asked to read and failed to, by why. A repair lets it read them. */
  readonly modelFallbacks: readonly { readonly cause: string; readonly positions: readonly number[] }[];
  /**
   * What readings listed and was not taken. What the text does not bear out (a quote that does not stand there) is
   * rightly refused, and nothing is missing; what was left out because it was too much is under `missing` as well.
   */
  readonly dropped: readonly (DroppedCount & { readonly positions: readonly number[] })[];
  /** A step that is `done` is here when a part of what was read was left out. */
  readonly missing: readonly {
    readonly step: ChunkStep;
    readonly positions: readonly number[];
    readonly status: StepStatus | 'pending';
    readonly cause: string | null;
    readonly message: string | null;
  }[];
}

/** `unchanged`: the latest revision has this very content, nothing was written. */
export interface IngestResult {
  readonly outcome: 'added' | 'revised' | 'unchanged';
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly jobId: string | null;
  readonly chunks: number;
}

export interface ArtifactStore {
  /**
   * Artifact, revision, chunks, postings, structured mentions (kept in the revision's metadata under `mentions`) and
   * job in one transaction, all or nothing; the artifact can be searched when it resolves. A newer revision takes the
   * place of the old one: its postings and vectors go, its events are marked as superseded.
   */
  accept(
    space: Space,
    incoming: ParsedDocument,
    chunks: readonly ChunkDraft[],
    enqueue: (
      revision: { readonly spaceId: number; readonly revisionId: string },
      transaction: unknown,
    ) => Promise<string | null>,
  ): Promise<IngestResult>;
  get(spaceId: number, artifactUid: string): Promise<Revision | null>;
  revision(spaceId: number, revisionId: string): Promise<(Revision & { readonly text: string }) | null>;
  revisions(spaceId: number, artifactUid: string): Promise<readonly Revision[]>;
  /** Latest revisions, newest first. */
  list(filter: ArtifactFilter): Promise<readonly Revision[]>;
  chunks(revisionId: string): Promise<readonly Chunk[]>;
  chunk(spaceId: number, chunkId: number): Promise<Chunk | null>;
  /** Marks steps; the newest mark of a chunk's step wins. */
  saveSteps(spaceId: number, marks: readonly ChunkStepResult[]): Promise<void>;
  /** Whether no newer one took its place, and it was not removed. */
  isLatest(spaceId: number, revisionId: string): Promise<boolean>;
  steps(revisionId: string): Promise<readonly (ChunkStepResult & { readonly updatedAt: Date })[]>;
  /** Latest-revision chunks whose step is not done (or was done by `method`), lowest id first, at most `limit`. */
  unfinished(filter: {
    readonly step: ChunkStep;
    readonly spaceId?: number;
    readonly doneBy?: string;
    readonly after?: number;
    readonly limit: number;
  }): Promise<readonly Chunk[]>;
  /**
   * The artifact with everything derived from it, entities that nothing else mentions and their merges included. What
   * a graph elsewhere has to forget; null when there is no such artifact.
   */
  remove(spaceId: number, artifactUid: string): Promise<RemovedIds | null>;
}

/** Events and entities that are no more. */
export interface RemovedIds {
  readonly eventIds: readonly string[];
  readonly entityIds: readonly string[];
}

export interface ArtifactFilter {
  readonly spaceId: number;
  readonly type?: ArtifactType;
  readonly sourceSystem?: string;
  readonly limit: number;
  /** Only revisions ingested before this one (its id). */
  readonly before?: string;
}
