// Events as callers list them.

export interface EventFilter {
  readonly spaceId: number;
  readonly category?: string;
  readonly entityId?: string;
  readonly artifactUid?: string;
  readonly from?: Date;
  readonly to?: Date;
  /** Also events of superseded revisions. */
  readonly withSuperseded?: boolean;
  readonly limit: number;
  readonly before?: string;
}

export interface StoredEvent {
  readonly eventId: string;
  readonly spaceId: number;
  readonly artifactUid: string;
  readonly revisionId: string;
  readonly chunkId: number;
  readonly category: string;
  readonly eventTime: Date | null;
  readonly narrative: string;
  readonly subject: string | null;
  readonly confidence: number;
  readonly method: 'model' | 'rules';
  readonly supersededAt: Date | null;
  readonly actors: readonly { readonly entityId: string; readonly name: string; readonly role: string }[];
  readonly subjects: readonly { readonly entityId: string; readonly name: string }[];
  readonly evidence: readonly {
    readonly chunkId: number;
    readonly quote: string;
    readonly startChar: number;
    readonly endChar: number;
  }[];
}
