// Test doubles of knowledge: a reader of marked-up text, a resolver by exact name, a recording graph.
import type { KnowledgeWorld } from './knowledge-world.ts';
import type { GraphStep } from '../../src/knowledge/ingest/read-step.ts';
import type { EntityMention, RemovedIds, Reading } from '../../src/knowledge/index.ts';
import type { Reader } from '../../src/knowledge/reading/rules-reader.ts';
import type { EntityResolver } from '../../src/knowledge/entities/resolve-mentions.ts';
import { sql } from '../../src/platform/postgres/index.ts';

/** `[Ann]` is a mention of a person, `[Ann] decided.` a decision of hers. */
export function bracketReader(method: 'model' | 'rules'): Reader {
  return {
    method,
    read: async ({ chunk }) => {
      const mentions = [...chunk.text.matchAll(/\[([^\]]+)\]/g)].map((found, index): EntityMention => ({
        ref: `m${index}`,
        surfaceForm: found[1] ?? '',
        canonicalSuggestion: found[1] ?? '',
        type: 'person',
        contextClues: {},
        startChar: chunk.startChar + found.index + 1,
        endChar: chunk.startChar + found.index + found[0].length - 1,
        confidence: method === 'model' ? 0.9 : 0.5,
        method,
      }));
      const events = mentions.flatMap((mention): Reading['events'] => {
        const end = (mention.endChar ?? 0) + 1 - chunk.startChar;
        if (!chunk.text.startsWith(' decided.', end)) return [];
        const startChar = chunk.startChar + end + 1;
        return [
          {
            category: 'Decision',
            eventTime: null,
            narrative: `${mention.surfaceForm} decided.`,
            subjectRef: null,
            subject: null,
            actors: [{ ref: mention.ref, role: 'owner' }],
            evidence: [{ quote: 'decided.', startChar, endChar: startChar + 8 }],
            confidence: mention.confidence,
          },
        ];
      });
      return { method, mentions, events, dropped: [] };
    },
  };
}

/** The same name is the same entity. */
export function exactResolver({
  database,
  ids,
}: Pick<KnowledgeWorld, 'database' | 'ids'>): Pick<EntityResolver, 'resolve'> {
  return {
    resolve: async (mentions, { spaceId, artifactUid }) => {
      const results = [];
      for (const { canonicalSuggestion, type } of mentions) {
        const key = canonicalSuggestion.toLowerCase();
        const known = await database.query<{ id: string }>(sql`
          select entity_id as id from entity where space_id = ${spaceId} and normalized_name = ${key}
            and merged_into is null`);
        const entityId = known.rows[0]?.id ?? ids.uuid();
        if (known.rows.length === 0)
          await database.query(sql`
            insert into entity (entity_id, space_id, entity_type, canonical_name, normalized_name, first_artifact_uid,
              created_at, updated_at)
            values (${entityId}, ${spaceId}, ${type}, ${canonicalSuggestion}, ${key}, ${artifactUid}, now(), now())`);
        results.push({
          entityId,
          isNew: known.rows.length === 0,
          mergedFrom: null,
          uncertainMatch: null,
          byName: null,
          canonicalName: canonicalSuggestion,
        });
      }
      return results;
    },
  };
}

/** Records what it was given. */
export class RecordingGraph implements GraphStep {
  isEnabled = true;
  isAway = false;
  readonly put: GraphStep['put'];
  readonly chunks: number[] = [];
  readonly gone: RemovedIds[] = [];

  constructor() {
    this.put = async (_spaceId, chunkIds) => {
      this.chunks.push(...chunkIds);
      return chunkIds.map((chunkId) =>
        this.isAway
          ? {
              chunkId,
              step: 'graph',
              status: 'skipped',
              cause: 'KNOWLEDGE_GRAPH_UNAVAILABLE',
              message: 'It is away.',
            }
          : { chunkId, step: 'graph', status: 'completed' },
      );
    };
  }

  async remove(_spaceId: number, gone: RemovedIds): Promise<void> {
    if (gone.eventIds.length + gone.entityIds.length > 0) this.gone.push(gone);
  }

  async removeSpace(): Promise<void> {
    this.chunks.length = 0;
  }
}
