// Settings of knowledge: who embeds, which graph, how long each part may take.
import type { OptionValues } from '../core/index.ts';
import { booleanOption, choiceOption, defineOptions, numberOption, textOption } from '../core/index.ts';
import { graphBackends } from './graph/graph.ts';

export const knowledgeOptions = defineOptions({
  section: 'knowledge',
  describe: 'Knowledge: reading, entities, graph, search.',
  fields: {
    embedder: choiceOption({
      describe: 'Who makes vectors; auto: the gateway if a configured model embeds, else nobody.',
      env: 'EMBEDDER',
      default: 'auto',
      choices: ['auto', 'gateway', 'local', 'none'],
    }),
    embeddingModel: textOption({
      describe: 'The embedding model of the gateway to use; vectors of different models never mix.',
      env: 'EMBEDDING_MODEL',
      default: null,
      defaultText: 'the first that is configured',
      allowed: 'the name of a model',
      pattern: /^\S{1,200}$/,
    }),
    embeddingBlend: textOption({
      describe:
        'How vectors join the lexical ranking: rrf, or the weight (0 to 1) of re-ranking; "npm run eval -- beir --calibrate" measures it.',
      env: 'EMBEDDING_BLEND',
      default: null,
      defaultText: 'what is known of the model; 0.2 when nothing is',
      allowed: 'rrf, or a number from 0 to 1',
      pattern: /^(rrf|0(\.\d+)?|1(\.0+)?)$/,
    }),
    graphBackend: choiceOption({
      describe: 'Where the graph lives: plain SQL, Apache AGE, or nowhere.',
      env: 'GRAPH_BACKEND',
      default: 'sql',
      choices: graphBackends,
    }),
    readWithModel: booleanOption({
      describe: 'Let models of the gateway read chunks and settle doubtful names; off: rules only.',
      env: 'HEADWORKS_KNOWLEDGE_READ_WITH_MODEL',
      default: true,
    }),
    backfill: booleanOption({
      describe:
        'Let a model that is configured later read what rules have read, and settle names that were left open; off: only what comes from then on.',
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
      describe: 'Longest time for one call that makes vectors.',
      env: 'HEADWORKS_KNOWLEDGE_EMBEDDING_TIMEOUT_MS',
      default: 10_000,
      min: 100,
      max: 600_000,
    }),
    candidatesTimeoutMs: numberOption({
      describe: 'Longest time to look for entities that a name may mean.',
      env: 'HEADWORKS_KNOWLEDGE_CANDIDATES_TIMEOUT_MS',
      default: 5_000,
      min: 10,
      max: 600_000,
    }),
    confirmationTimeoutMs: numberOption({
      describe: 'Longest time for a model to say whether two names mean the same.',
      env: 'HEADWORKS_KNOWLEDGE_CONFIRMATION_TIMEOUT_MS',
      default: 30_000,
      min: 100,
      max: 600_000,
    }),
    graphUpsertTimeoutMs: numberOption({
      describe: 'Longest time to write one node or edge of the graph.',
      env: 'HEADWORKS_KNOWLEDGE_GRAPH_UPSERT_TIMEOUT_MS',
      default: 5_000,
      min: 10,
      max: 600_000,
    }),
    expansionTimeoutMs: numberOption({
      describe: 'Longest time for graph expansion in a search; then it answers without.',
      env: 'HEADWORKS_KNOWLEDGE_EXPANSION_TIMEOUT_MS',
      default: 500,
      min: 1,
      max: 60_000,
    }),
    chunkLookupTimeoutMs: numberOption({
      describe: 'Longest time to find the events of a result; then that result is not expanded.',
      env: 'HEADWORKS_KNOWLEDGE_CHUNK_LOOKUP_TIMEOUT_MS',
      default: 2_000,
      min: 1,
      max: 60_000,
    }),
    cooldownSeconds: numberOption({
      describe: 'A part that was away is looked at again after this.',
      env: 'HEADWORKS_KNOWLEDGE_COOLDOWN_SECONDS',
      default: 30,
      min: 1,
      max: 3_600,
    }),
    maxDocumentBytes: numberOption({
      describe: 'Largest file or text that is taken in.',
      env: 'HEADWORKS_KNOWLEDGE_MAX_DOCUMENT_BYTES',
      default: 20_971_520,
      min: 1_024,
      max: 104_857_600,
    }),
    concurrency: numberOption({
      describe: 'Artifacts that one process works on at once.',
      env: 'HEADWORKS_KNOWLEDGE_CONCURRENCY',
      default: 4,
      min: 1,
      max: 64,
    }),
  },
});

export type KnowledgeOptions = OptionValues<typeof knowledgeOptions.fields>;
