// A revision with what is known of its artifact, as every query reads it.
import { sql } from '../../platform/postgres/sql.ts';

/** Of `artifact_revision r join artifact a using (artifact_uid)`. */
export const revisionColumns = sql`
  r.revision_id as "revisionId", r.artifact_uid as "artifactUid", r.space_id as "spaceId", a.type,
  a.source_system as "sourceSystem", a.source_id as "sourceId", r.content_hash as "contentHash", r.title,
  r.source_ts as "sourceTs", r.metadata, r.warnings, r.token_count as "tokenCount", r.chunk_count as "chunkCount",
  r.is_latest as "isLatest", r.job_id as "jobId", r.ingested_at as "ingestedAt"`;

/** Of `chunk c`. */
export const chunkColumns = sql`
  c.chunk_id as "chunkId", c.space_id as "spaceId", c.artifact_uid as "artifactUid", c.revision_id as "revisionId",
  c.position, c.start_char as "startChar", c.end_char as "endChar", c.token_count as "tokenCount", c.heading, c.text`;
