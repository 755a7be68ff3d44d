// Entities as they are read from their table.
import { sql } from '../../platform/postgres/sql.ts';

/** Of the table `entity`, called `e`. */
export const entityColumns = sql`
  e.entity_id as "entityId", e.space_id as "spaceId", e.entity_type as type, e.canonical_name as "canonicalName",
  e.normalized_name as "normalizedName", e.role, e.organization, e.email, e.context_clues as "contextClues",
  e.embedding_model as "embeddingModel", e.first_artifact_uid as "firstArtifactUid",
  e.needs_review as "needsReview", e.review_reason as "reviewReason", e.merged_into as "mergedInto",
  e.created_at as "createdAt", e.updated_at as "updatedAt"`;

/** Merges upon merges are followed this far; nobody merges deeper. */
export const longestChain = 32;
