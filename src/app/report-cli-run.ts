// Extracts for a command, and tells the server of this data folder about it if one runs. Best effort, all of it: a
// server that is not there, slow or broken neither fails nor slows the extraction, and none is ever started.
import type { ExtractionRunReport } from '../api/extraction.ts';
import type { Config } from '../config/index.ts';
import type { EmittedEvent, HttpTransport } from '../core/index.ts';
import { messageOf, Redactor, systemClock, systemIds } from '../core/index.ts';
import type { ProgressFigures } from '../extraction/index.ts';
import { figuresOf, noFigures } from '../extraction/index.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import { readAdminToken } from './secrets.ts';
import type { CommandExtractOptions, ExtractionSummary, SourceChoice } from './extract.ts';
import { extract } from './extract.ts';
import { readServerFile } from './client/server-file.ts';
import { ServerSession } from './client/session.ts';
import { vaultName } from './vault.ts';

const everyMs = 1_000;
/** A server that was not there, or did not answer, is looked for again after this. */
const lookAgainMs = 5_000;
const patienceMs = 2_000;
/** Ctrl-C promises an end within two seconds. */
const lastWordMs = 500;

/** As `extract`. */
export async function extractAndReport(
  config: Config,
  choice: SourceChoice,
  options: CommandExtractOptions,
): Promise<ExtractionSummary> {
  const reporter = new RunReporter(config);
  const redactor = new Redactor();
  const onSecret = (secret: string) => {
    redactor.add(secret);
    options.onSecret(secret);
  };
  const onEvent = (emitted: EmittedEvent) => {
    options.onEvent(emitted);
    reporter.hear(emitted);
  };
  try {
    const result = await extract(config, choice, { ...options, onSecret, onEvent });
    const { session, status: state } = result;
    await reporter.end({ ...reportOf(result), session, state });
    return result;
  } catch (error) {
    const state = options.signal.aborted ? 'interrupted' : 'failed';
    await reporter.end({ state, message: redactor.text(messageOf(error)).slice(0, 2000) });
    throw error;
  } finally {
    await reporter.close();
  }
}

type Figures = Parameters<typeof figuresOf>[0];

function reportOf(figures: Figures) {
  const { itemsPerSecond, rateLimitedCalls, types, ...counts } = figuresOf(figures);
  return {
    ...counts,
    types: [...types],
    rate_limited_calls: rateLimitedCalls,
    items_per_second: itemsPerSecond,
  };
}

/** Begins when the vault is open: what never got so far is no run. */
class RunReporter {
  readonly #config: Config;
  #transport: HttpTransport | null = null;
  #session: ServerSession | null = null;
  #report: ExtractionRunReport | null = null;
  #sending: Promise<void> | null = null;
  #notBefore = -Infinity;

  constructor(config: Config) {
    this.#config = config;
  }

  hear({ name, payload }: EmittedEvent): void {
    if (name === 'extraction:started') {
      const { source, vault: file, session } = payload as Record<'source' | 'vault' | 'session', string>;
      const vault = vaultName(file, this.#config.data.folder);
      const { itemsPerSecond, rateLimitedCalls, types, ...counts } = noFigures;
      const figures = {
        ...counts,
        types: [...types],
        rate_limited_calls: rateLimitedCalls,
        items_per_second: itemsPerSecond,
      };
      const id = systemIds.uuid();
      this.#report = { id, source, vault, session, state: 'running', message: null, ...figures };
    } else if (name !== 'extraction:progress' || !this.#report) {
      return;
    } else {
      const figures = reportOf(payload as unknown as ProgressFigures & Figures);
      this.#report = { ...this.#report, ...figures };
    }
    if (this.#sending === null && systemClock.monotonic() >= this.#notBefore) void this.#send(patienceMs);
  }

  /** Says the end, and waits a moment at most for it to arrive. */
  async end(change: Partial<ExtractionRunReport>): Promise<void> {
    if (!this.#report) return;
    this.#report = { ...this.#report, ...change };
    const given = new AbortController();
    const last = async () => {
      await this.#sending;
      if (this.#session) await this.#send(lastWordMs);
    };
    await Promise.race([last(), systemClock.sleep(lastWordMs, given.signal).catch(() => undefined)]);
    given.abort();
  }

  async close(): Promise<void> {
    await this.#transport?.close().catch(() => undefined);
  }

  #send(withinMs: number): Promise<void> {
    this.#sending = this.#try(AbortSignal.timeout(withinMs)).finally(() => (this.#sending = null));
    return this.#sending;
  }

  async #try(signal: AbortSignal): Promise<void> {
    let isThere = false;
    try {
      isThere = await this.#deliver(signal);
    } catch {
      this.#session = null;
    }
    this.#notBefore = systemClock.monotonic() + (isThere ? everyMs : lookAgainMs);
  }

  /** False when there is no server to tell. */
  async #deliver(signal: AbortSignal): Promise<boolean> {
    this.#session ??= await this.#find(signal);
    if (!this.#session) return false;
    await this.#session.call('POST', '/api/v1/extraction/runs/report', { body: this.#report, signal });
    return true;
  }

  /** The server that the data folder names, if it lives: our token goes to nobody else. */
  async #find(signal: AbortSignal): Promise<ServerSession | null> {
    const { data, server } = this.#config;
    const file = await readServerFile(data.folder);
    const token = file && (await readAdminToken(data.folder, server.adminToken));
    if (!file || !token) return null;
    this.#transport ??= createUndiciTransport({});
    const session = new ServerSession(file.url, token, this.#transport);
    return (await session.identity(signal)).instance === file.instance ? session : null;
  }
}
