// Options of knowledge: embedder, graph backend, timeouts and limits.
import type { OptionValues } from '../core/index.ts';
import { booleanOption, choiceOption, defineOptions, numberOption, textOption } from '../core/index.ts';
import { graphBackends } from './graph/graph.ts';

export const knowledgeOptions = defineOptions({
  section: 'knowledge',
  describe: 'Knowledge: reading, entities, graph, search.',
  fields: {
    embedder: choiceOption({
      describe:
        'Embedder that creates vectors; auto: a model of the gateway if one supports embeddings, else none.',
      env: 'EMBEDDER',
      default: 'auto',
      choices: ['auto', 'gateway', 'local', 'none'],
    }),
    embeddingModel: textOption({
      describe: 'The embedding model of the gateway; vectors of different models are never compared.',
      env: 'EMBEDDING_MODEL',
      default: null,
      defaultText: 'the first one configured',
      allowed: 'the name of a model',
      pattern: /^\S{1,200}$/,
    }),
    embeddingBlend: textOption({
      describe:
        'How vectors are combined with the lexical ranking: rrf, or the weight (0 to 1) of re-ranking; "npm run eval -- beir --calibrate" measures it.',
      env: 'EMBEDDING_BLEND',
      default: null,
      defaultText: 'measured per model; 0.2 for other models',
      allowed: 'rrf, or a number from 0 to 1',
      pattern: /^(rrf|0(\.\d+)?|1(\.0+)?)$/,
    }),
    graphBackend: choiceOption({
      describe: 'Graph backend: plain SQL, Apache AGE, or off.',
      env: 'GRAPH_BACKEND',
      default: 'sql',
      choices: graphBackends,
    }),
    readWithModel: booleanOption({
      describe: 'Read chunks and confirm uncertain names with models of the gateway; false: rules only.',
      env: 'HEADWORKS_KNOWLEDGE_READ_WITH_MODEL',
      default: true,
    }),
    backfill: booleanOption({
      describe:
        'When a model is configured later, read again what rules have read and confirm open pairs; false: only new documents.',
      env: 'HEADWORKS_KNOWLEDGE_BACKFILL',
      default: true,
    }),
    readingTimeoutMs: numberOption({
      describe: 'Timeout for a model to read one chunk.',
      env: 'HEADWORKS_KNOWLEDGE_READING_TIMEOUT_MS',
      default: 60_000,
      min: 1_000,
      max: 3_600_000,
    }),
    embeddingTimeoutMs: numberOption({
      describe: 'Timeout of one embedding call.',
      env: 'HEADWORKS_KNOWLEDGE_EMBEDDING_TIMEOUT_MS',
      default: 10_000,
      min: 100,
      max: 600_000,
    }),
    candidatesTimeoutMs: numberOption({
      describe: 'Timeout of the search for candidate entities of a name.',
      env: 'HEADWORKS_KNOWLEDGE_CANDIDATES_TIMEOUT_MS',
      default: 5_000,
      min: 10,
      max: 600_000,
    }),
    confirmationTimeoutMs: numberOption({
      describe: 'Timeout for a model to confirm whether two names are the same entity.',
      env: 'HEADWORKS_KNOWLEDGE_CONFIRMATION_TIMEOUT_MS',
      default: 30_000,
      min: 100,
      max: 600_000,
    }),
    graphUpsertTimeoutMs: numberOption({
      describe: 'Timeout for writing one node or edge of the graph.',
      env: 'HEADWORKS_KNOWLEDGE_GRAPH_UPSERT_TIMEOUT_MS',
      default: 5_000,
      min: 10,
      max: 600_000,
    }),
    expansionTimeoutMs: numberOption({
      describe: 'Timeout of graph expansion in a search; then it responds without related context.',
      env: 'HEADWORKS_KNOWLEDGE_EXPANSION_TIMEOUT_MS',
      default: 500,
      min: 1,
      max: 60_000,
    }),
    chunkLookupTimeoutMs: numberOption({
      describe: 'Timeout for finding the events of a result; then that result is not expanded.',
      env: 'HEADWORKS_KNOWLEDGE_CHUNK_LOOKUP_TIMEOUT_MS',
      default: 2_000,
      min: 1,
      max: 60_000,
    }),
    cooldownSeconds: numberOption({
      describe: 'Cooldown before a failed model, embedder or graph is tried again.',
      env: 'HEADWORKS_KNOWLEDGE_COOLDOWN_SECONDS',
      default: 30,
      min: 1,
      max: 3_600,
    }),
    maxDocumentBytes: numberOption({
      describe: 'Size limit of an ingested file or text.',
      env: 'HEADWORKS_KNOWLEDGE_MAX_DOCUMENT_BYTES',
      default: 20_971_520,
      min: 1_024,
      max: 104_857_600,
    }),
    concurrency: numberOption({
      describe: 'Artifacts that one process ingests at the same time.',
      env: 'HEADWORKS_KNOWLEDGE_CONCURRENCY',
      default: 4,
      min: 1,
      max: 64,
    }),
  },
});

export type KnowledgeOptions = OptionValues<typeof knowledgeOptions.fields>;
