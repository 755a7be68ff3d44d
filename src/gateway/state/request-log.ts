// The log of requests: what ended and how, and bodies where the configuration says that they are kept.
import type { Clock, Redactor } from '../../core/index.ts';
import { GatewayError } from '../errors.ts';
import { tapStream } from '../providers/tap-stream.ts';
import type { AttemptStore, ContentStore, ModelStore } from '../stores.ts';
import type {
  CompletionOptions,
  CompletionRequest,
  CompletionResult,
  RequestContent,
  RequestFilter,
} from '../types.ts';
import type { AttemptLog } from './attempt-log.ts';
import { RowLog } from './row-log.ts';
import type { StateDeps } from './store-access.ts';
import { withStoreTimeout } from './store-access.ts';

export interface RequestLogDeps {
  readonly clock: Clock;
  readonly attempts: Pick<AttemptLog, 'flush'>;
  readonly store: Pick<AttemptStore, 'requests' | 'request'>;
  readonly contents: Pick<ContentStore, 'get'>;
  /** Null: bodies are not kept. */
  readonly contentLog: Pick<ContentLog, 'flush'> | null;
  readonly models: Pick<ModelStore, 'names'>;
}

export type RequestQuery = Omit<RequestFilter, 'model' | 'since'> & {
  readonly model?: string | undefined;
  readonly since?: Date | undefined;
};

/** Without this, a list would read every row that is kept. */
const defaultSinceMs = 86_400_000;

/** Reads include everything that this process recorded before. */
export class RequestLog {
  readonly #deps: RequestLogDeps;

  constructor(deps: RequestLogDeps) {
    this.#deps = deps;
  }

  /** A page, the last request first, and the id that continues it. Fails with STATE_UNAVAILABLE. */
  list(query: RequestQuery) {
    return withStoreTimeout(this.#deps.clock, this.#list(query));
  }

  /** `caller`: only of this one; null: of any. Fails with GATEWAY_REQUEST_NOT_FOUND or STATE_UNAVAILABLE. */
  get(id: number, caller: string | null) {
    return withStoreTimeout(this.#deps.clock, this.#get(id, caller));
  }

  async #list({ model, since, limit, ...query }: RequestQuery) {
    const { clock, attempts, store, models } = this.#deps;
    await attempts.flush();
    const names = await models.names();
    const idsOf = (name: string) => [...names].flatMap(([id, each]) => (each === name ? id : []));
    const found = await store.requests({
      ...query,
      limit: limit + 1,
      since: since ?? new Date(clock.now() - defaultSinceMs),
      model: model === undefined ? undefined : { name: model, ids: idsOf(model) },
    });
    const page = found.slice(0, limit);
    return {
      requests: page.map((request) => ({ ...request, model: nameIn(names, request.modelId) })),
      next: found.length > limit ? String(page.at(-1)?.id) : null,
    };
  }

  async #get(id: number, caller: string | null) {
    const { attempts, store, contents, contentLog, models } = this.#deps;
    await Promise.all([attempts.flush(), contentLog?.flush()]);
    const found = await store.request(id);
    if (!found || (caller !== null && found.request.caller !== caller))
      throw new GatewayError(
        'GATEWAY_REQUEST_NOT_FOUND',
        `The log has no request ${id}. "headworks requests list" shows all.`,
      );
    const [names, content] = await Promise.all([models.names(), contents.get(found.request.requestId)]);
    return {
      ...found.request,
      model: nameIn(names, found.request.modelId),
      attempts: found.attempts.map((attempt) => ({
        ...attempt,
        model: nameIn(names, attempt.modelId) ?? String(attempt.modelId),
      })),
      content: content ? { request: content.request, response: content.response } : null,
    };
  }
}

const nameIn = (names: ReadonlyMap<number, string>, id: number | null): string | null =>
  id === null ? null : (names.get(id) ?? String(id));

/* ---- bodies ---- */

/** In characters, of each body. */
const maxContent = 65_536;
/** More than any secret has: one that begins before the end of what is kept is recognized as a whole. */
const maxSecret = 4_096;
/** Each row has up to two bodies. */
const contentLimits = { batch: 50, maxWaiting: 200 };

type Complete = (request: CompletionRequest, options: CompletionOptions) => Promise<CompletionResult>;

/** Bodies of requests and responses, redacted and truncated, written behind the requests. */
export class ContentLog {
  readonly #clock: Clock;
  readonly #redactor: Pick<Redactor, 'text'>;
  readonly #rows: RowLog<RequestContent>;

  constructor(deps: StateDeps, redactor: Pick<Redactor, 'text'>, store: Pick<ContentStore, 'append'>) {
    this.#clock = deps.clock;
    this.#redactor = redactor;
    const append = (contents: readonly RequestContent[]) => store.append(contents);
    const onDropped = (count: number) => deps.events.emit('gateway:contents-dropped', { count });
    this.#rows = new RowLog(deps, { what: 'contents', append, onDropped }, contentLimits);
  }

  /** The same as `complete`, with the bodies kept. */
  capture(complete: Complete): Complete {
    return async (request, options) => {
      const { requestId } = options;
      let result: CompletionResult;
      try {
        result = await complete(request, options);
      } catch (error) {
        this.#record(requestId, request, null);
        throw error;
      }
      const { response } = result;
      if (response.kind === 'stream') {
        const chunks: Uint8Array[] = [];
        let bytes = 0;
        const tapped = tapStream(response, (chunk) => {
          if (bytes < maxBytes) chunks.push(chunk);
          bytes += chunk.byteLength;
        });
        const text = () => this.#kept(decoded(Buffer.concat(chunks)));
        void response.ended.then(() => this.#record(requestId, request, text()));
        return { ...result, response: tapped };
      }
      this.#record(requestId, request, this.#text(response.body, response.contentType));
      return result;
    };
  }

  flush(): Promise<boolean> {
    return this.#rows.flush();
  }

  close(): Promise<void> {
    return this.#rows.close();
  }

  #record(requestId: string, { body, contentType }: CompletionRequest, response: string | null): void {
    const at = new Date(this.#clock.now());
    this.#rows.push({ requestId, at, request: this.#text(body, contentType), response });
  }

  #text(body: Uint8Array, contentType: string): string {
    const isText = contentType.includes('json') || contentType.startsWith('text/');
    if (!isText) return `(${contentType}, ${body.byteLength} bytes)`;
    return this.#kept(decoded(body.subarray(0, maxBytes)));
  }

  /** Redacted before it is truncated: half a secret is not recognized. */
  #kept(text: string): string {
    const clean = this.#redactor.text(text.slice(0, maxContent + maxSecret)).replaceAll('\0', '');
    return clean.length > maxContent ? `${clean.slice(0, maxContent).toWellFormed()}…` : clean;
  }
}

/** No character takes more than three bytes per UTF-16 unit. */
const maxBytes = (maxContent + maxSecret) * 3;

const decoded = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
