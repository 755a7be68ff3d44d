// Artifacts, their revisions, chunks, and the processing steps of each chunk.
import type { DroppedCount, StructuredMention } from '../reading/types.ts';

export const artifactTypes = ['email', 'doc', 'chat', 'transcript', 'note'] as const;
export type ArtifactType = (typeof artifactTypes)[number];

/** A document as text, ready to be stored. */
export interface ParsedDocument {
  readonly type: ArtifactType;
  /** `upload`, `files`, `vault:NAME`, … */
  readonly sourceSystem: string;
  /** The source's id; other content under the same id is a new revision. */
  readonly sourceId: string;
  readonly title: string;
  readonly text: string;
  /** Date of the document according to the source. */
  readonly sourceTs: Date | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What the file parser skipped, in sentences. */
  readonly warnings: readonly string[];
  /** Known from the source without reading the text: owner, folder, author, recipient, … */
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

/** `failed`: tried, with a ledger row. `skipped`: not possible now (the component is unavailable). */
export type StepStatus = 'completed' | 'failed' | 'skipped';

export interface ChunkStepResult {
  readonly chunkId: number;
  readonly step: ChunkStep;
  readonly status: StepStatus;
  /** read: `model`, `rules`, or `structured` (data without prose); embed: the model's name. */
  readonly method?: string;
  /** Why it is not done; for a chunk read by rules after a failed model call, why the call failed. */
  readonly cause?: string;
  readonly message?: string;
  /** read: entries of the answer that were not stored; absent when all were. */
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

/** `completed`: every configured step of every chunk. Otherwise the state of its job, or `degraded` if that has ended. */
export const artifactStates = ['queued', 'running', 'completed', 'degraded'] as const;
export type ArtifactState = (typeof artifactStates)[number];

/** Exactly which steps are completed, and which are missing and why. */
export interface ArtifactStatus {
  readonly state: ArtifactState;
  readonly chunks: number;
  readonly steps: Readonly<
    Record<
      ChunkStep,
      {
        readonly completed: number;
        readonly failed: number;
        readonly skipped: number;
        readonly queued: number;
      }
    >
  >;
  /** Chunks read by rules because no model was available. */
  readonly readByRules: number;
  /** Those chunks where the model call failed, by cause. A repair reads them with a model. */
  readonly modelFallbacks: readonly { readonly cause: string; readonly positions: readonly number[] }[];
  /**
   * Entries of readings that were not stored. Those that the text does not support (a quote that does not occur) are
   * rejected, and nothing is missing; those beyond a limit are also listed under `missing`.
   */
  readonly dropped: readonly (DroppedCount & { readonly positions: readonly number[] })[];
  /** Includes `completed` steps whose reading exceeded a limit. */
  readonly missing: readonly {
    readonly step: ChunkStep;
    readonly positions: readonly number[];
    readonly state: StepStatus | 'queued';
    readonly cause: string | null;
    readonly message: string | null;
  }[];
}

/** `unchanged`: the latest revision has the same content; nothing was written. */
export interface IngestResult {
  readonly outcome: 'added' | 'revised' | 'unchanged';
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly jobId: string | null;
  readonly chunks: number;
}

/** Events and entities that were deleted. */
export interface RemovedIds {
  readonly eventIds: readonly string[];
  readonly entityIds: readonly string[];
}

export interface ArtifactFilter {
  readonly spaceId: number;
  readonly type?: ArtifactType;
  readonly sourceSystem?: string;
  readonly limit: number;
  /** Id of a revision; lists those ingested before it. */
  readonly before?: string;
}

/** A file or text to ingest. */
export interface IngestRequest {
  readonly content:
    | { readonly text: string }
    | { readonly name: string; readonly mediaType: string; readonly bytes: Uint8Array };
  readonly type?: ArtifactType;
  readonly title?: string;
  readonly sourceSystem?: string;
  readonly sourceId?: string;
  readonly sourceTs?: Date;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly mentions?: readonly StructuredMention[];
}

/** Model usage of an ingest. Calls that confirm whether two names are the same entity are not predictable, and not included. */
export interface IngestEstimate {
  readonly chunks: number;
  /** Tokens of the text. */
  readonly tokens: number;
  /** 0, like their tokens, when rules read. */
  readonly modelCalls: number;
  /** Tokens of the text and of the instructions. */
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly embeddingCalls: number;
}

export interface ArtifactView extends Revision {
  readonly status: ArtifactStatus;
}
