// headworks/knowledge: ingests documents and searches them, without a server.
import { EventBus, silentLog, systemClock, systemIds, systemRandom } from '../core/index.ts';
import { optionValues } from '../core/options.ts';
import { knowledgeOptions } from '../knowledge/options.ts';
import { openKnowledge } from '../knowledge/open-knowledge.ts';
import { searchDefaults } from '../knowledge/search/types.ts';
import { jobEventSpecs } from '../platform/jobs/events.ts';
import { createJobQueue } from '../platform/jobs/queue.ts';
import type { CompletionRequest } from './gateway.ts';
import type { StoreOptions } from './store-options.ts';
import { openStore } from './store.ts';
import { checkNames } from './check-names.ts';

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
  /** Other text under the same id replaces it. Default: a new document each time. */
  readonly id?: string;
  /** Date of the document. */
  readonly date?: Date;
}

/**
 * A passage that {@link Knowledge} found.
 *
 * @example
 * const knowledge = await createKnowledge({});
 * const { results } = await knowledge.search('launch');
 * const best: SearchResult | undefined = results[0];
 */
export interface SearchResult {
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
export async function createKnowledge(given: KnowledgeOptions): Promise<Knowledge> {
  checkNames('createKnowledge', given, ['model', 'onDegradation', 'dataFolder', 'databaseUrl']);
  await using closing = new AsyncDisposableStack();
  const { model } = given;
  const options = optionValues(knowledgeOptions);
  const database = await openStore({ dataFolder: '.headworks/knowledge', ...given }, closing);
  const shared = { clock: systemClock, random: systemRandom, ids: systemIds };
  const jobs = await createJobQueue({
    ...shared,
    database,
    events: new EventBus(jobEventSpecs, () => systemClock.now()),
    redact: (text) => text,
    runSchedules: true,
  });
  closing.defer(() => jobs.stop(drainMs));
  const knowledge = await openKnowledge({
    ...shared,
    database,
    jobs,
    options,
    log: silentLog,
    ledger: { record: async ({ message }) => given.onDegradation?.(message) },
    model: {
      isConfigured: () => model !== undefined,
      complete: ({ messages, temperature, maxTokens, json, signal }) =>
        model
          ? model.complete({ prompt: messages, temperature, maxTokens, json, signal })
          : Promise.reject(new TypeError('No model is configured.')),
    },
  });
  closing.defer(() => knowledge.close());
  await knowledge.start({ isLongRunning: true, scansFolders: false });
  const space = await knowledge.spaces.resolve(null);
  const open = closing.move();
  return {
    ingest: async ({ title, text, id, date }, signal = new AbortController().signal) => {
      const { artifactUid } = await knowledge.artifacts.ingest(
        space,
        { content: { text }, title, sourceId: id, sourceTs: date },
        signal,
      );
      return { id: artifactUid };
    },
    search: async (query, { limit = 10, signal = new AbortController().signal } = {}) => {
      const { primaryResults, warning } = await knowledge.search.search(
        space,
        { ...searchDefaults, query, limit },
        signal,
      );
      const results = primaryResults.map(({ artifactUid, title, text, startChar, endChar, score }) => ({
        documentId: artifactUid,
        title,
        text,
        start: startChar,
        end: endChar,
        score,
      }));
      return { results, warning };
    },
    close: () => open.disposeAsync(),
  };
}
