// headworks/knowledge: ingests documents and searches them, without a server.
import { z } from 'zod';
import { EventBus, silentLog, systemClock, systemIds, systemRandom } from '../core/index.ts';
import { withDefaults } from '../core/options.ts';
import { isBlank, maxSourceBytes, maxTextLength } from '../knowledge/documents/parse-text.ts';
import { knowledgeOptions } from '../knowledge/options.ts';
import { openKnowledge } from '../knowledge/open-knowledge.ts';
import { searchDefaults } from '../knowledge/search/types.ts';
import { jobEventSpecs } from '../platform/jobs/events.ts';
import { createJobQueue } from '../platform/jobs/queue.ts';
import type { CompletionRequest } from './gateway.ts';
import type { StoreOptions } from './options.ts';
import {
  callback,
  checkInput,
  object,
  OpenCalls,
  run,
  signal,
  storeSettings,
  storeShape,
  whole,
} from './boundary.ts';
import { openStore } from './store.ts';

export { HeadworksError } from '../core/errors.ts';

/**
 * Settings of {@link createKnowledge}.
 *
 * @example const options: KnowledgeOptions = { dataFolder: 'knowledge' };
 */
export interface KnowledgeOptions extends StoreOptions {
  /** Reads documents for people, projects and events; a `Gateway` of `headworks/gateway` fits. Default: rules read them. */
  readonly model?: {
    complete(request: CompletionRequest): Promise<{ readonly text: string; readonly model: string }>;
  };
  /** Called with what could not be done as configured, for example a document that rules read because the model failed. */
  readonly onDegradation?: (message: string) => void;
}

/**
 * A document.
 *
 * @example const document: Document = { title: 'Minutes', text: 'Ada Lovelace decided to move the launch.' };
 */
export interface Document {
  readonly title: string;
  readonly text: string;
  /** Your id, at most 2,000 bytes; other text under the same id replaces it. Default: derived from the text. */
  readonly id?: string;
  /** Date of the document. */
  readonly date?: Date;
}

/**
 * A passage that {@link Knowledge} found.
 *
 * @example
 * const knowledge = await createKnowledge({ dataFolder: 'knowledge' });
 * const { results } = await knowledge.search('launch');
 * const best: SearchResult | undefined = results[0];
 * await knowledge.close();
 */
export interface SearchResult {
  /** The id that `ingest` returned: yours, if you gave one. */
  readonly documentId: string;
  readonly title: string;
  readonly text: string;
  /** Offsets of the passage in the document's text. */
  readonly start: number;
  readonly end: number;
  /** Comparable within one search only. */
  readonly score: number;
}

/**
 * Documents with their events and entities.
 *
 * @example
 * const knowledge: Knowledge = await createKnowledge({ dataFolder: 'knowledge' });
 * await knowledge.close();
 */
export interface Knowledge {
  /** Stores a document; it can be searched when this resolves. People and events are read in the background. */
  ingest(document: Document, signal?: AbortSignal): Promise<{ readonly id: string }>;
  /** Passages for a query, the best first; `warning` names what could not be searched. */
  search(
    query: string,
    options?: { readonly limit?: number; readonly signal?: AbortSignal },
  ): Promise<{ readonly results: readonly SearchResult[]; readonly warning: string | null }>;
  /** Waits for running work and closes the store; a document that was not read yet is read after the next start. */
  close(): Promise<void>;
}

/** How long `close` waits for running work. */
const drainMs = 10_000;

/**
 * Opens a collection of documents.
 *
 * @example
 * const knowledge = await createKnowledge({ dataFolder: 'knowledge' });
 * await knowledge.ingest({ title: 'Minutes', text: 'Ada Lovelace decided to move the launch to May.' });
 * const { results } = await knowledge.search('when is the launch?');
 * for (const { title, text } of results) console.log(title, text);
 * await knowledge.close();
 */
export async function createKnowledge(options: KnowledgeOptions = {}): Promise<Knowledge> {
  const given = checkInput('createKnowledge', createInput, options);
  return run(names, () => open(given));
}

const createInput = object({
  ...storeShape,
  /** Called as a method: it is passed on as it is. */
  model: z
    .custom<NonNullable<KnowledgeOptions['model']>>(
      (given) => typeof (given as KnowledgeOptions['model'] | null)?.complete === 'function',
      'must be an object with a method complete',
    )
    .optional(),
  onDegradation: callback<(message: string) => void>().optional(),
});

const visible = z.string().refine((given) => !isBlank(given), 'must not be empty');

const ingestInput = object({
  document: object({
    title: z.string(),
    text: visible.max(maxTextLength),
    id: visible
      .refine(
        (given) => Buffer.byteLength(given) <= maxSourceBytes,
        `must have at most ${maxSourceBytes} bytes`,
      )
      .optional(),
    date: z.date('must be a Date that is valid').optional(),
  }),
  signal: signal.optional(),
});

const searchInput = object({
  query: visible,
  options: object({ limit: whole(1, 50).optional(), signal: signal.optional() }).optional(),
});

const names = { settings: storeSettings };

async function open({ model, onDegradation, ...store }: z.output<typeof createInput>): Promise<Knowledge> {
  await using closing = new AsyncDisposableStack();
  const database = await openStore({ dataFolder: '.headworks/knowledge', ...store }, closing);
  const shared = { clock: systemClock, random: systemRandom, ids: systemIds };
  const jobs = await createJobQueue({
    ...shared,
    database,
    events: new EventBus(jobEventSpecs),
    redact: (given) => given,
    runSchedules: true,
  });
  closing.defer(() => jobs.stop(drainMs));
  const knowledge = await openKnowledge({
    ...shared,
    database,
    jobs,
    options: withDefaults(knowledgeOptions),
    log: silentLog,
    ledger: { record: async ({ message }) => onDegradation?.(message) },
    model: {
      isConfigured: () => model !== undefined,
      complete: ({ messages, temperature, maxTokens, json, signal: stopped }) =>
        model
          ? model.complete({ prompt: messages, temperature, maxTokens, json, signal: stopped })
          : Promise.reject(new TypeError('No model is configured.')),
    },
  });
  closing.defer(() => knowledge.close());
  await knowledge.start({ isLongRunning: true, scansFolders: false });
  const space = await knowledge.spaces.resolve(null);
  const calls = new OpenCalls('knowledge store', closing.move(), names);
  return {
    ingest: async (...[document, given]) => {
      const input = checkInput('ingest', ingestInput, { document, signal: given });
      const { title, text, id, date } = input.document;
      const { signal: stopped = new AbortController().signal } = input;
      return calls.run(async () => {
        const { artifactUid } = await knowledge.artifacts.ingest(
          space,
          { content: { text }, title, sourceId: id, sourceTs: date },
          stopped,
        );
        const { sourceId } = await knowledge.artifacts.get(space, artifactUid);
        return { id: sourceId };
      }, stopped);
    },
    search: async (...[query, given]) => {
      const input = checkInput('search', searchInput, { query, options: given });
      const { limit = 10, signal: stopped = new AbortController().signal } = input.options ?? {};
      return calls.run(async () => {
        const { primaryResults, warning } = await knowledge.search.search(
          space,
          { ...searchDefaults, query: input.query, limit },
          stopped,
        );
        const results = primaryResults.map(({ sourceId, title, text, startChar, endChar, score }) => ({
          documentId: sourceId,
          title,
          text,
          start: startChar,
          end: endChar,
          score,
        }));
        return { results, warning };
      }, stopped);
    },
    close: () => calls.close(),
  };
}
