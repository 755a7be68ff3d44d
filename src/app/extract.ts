// Extractions of a command, with the settings and secrets of the configuration. If a server runs on the same data
// folder, the command reports its progress there; a server that is missing, slow or broken does not affect it.
import * as extraction from '../extraction/index.ts';
import { callApi } from '../api/client.ts';
import type { ExtractionRunReport } from '../api/extraction.ts';
import type { Config } from '../config/index.ts';
import { secretsOf } from '../config/index.ts';
import type { EmittedEvent, HttpTransport } from '../core/index.ts';
import { messageOf, Redactor, snakeCaseKeys, systemClock, systemIds, withTimeout } from '../core/index.ts';
import type {
  Estimate,
  ExtractionSummary,
  ExtractOptions,
  ProgressFigures,
  RunFigures,
  SourceChoice,
} from '../extraction/index.ts';
import { vaultName } from '../extraction/vault/index.ts';
import { createUndiciTransport } from '../platform/http-client/undici-transport.ts';
import { localSession } from './client/local-server.ts';
import type { ServerSession } from './client/session.ts';

export type { Estimate, ExtractionSummary, SourceChoice } from '../extraction/index.ts';

export type CommandExtractOptions = Omit<ExtractOptions, 'secrets'>;

/** Extracts into a vault. */
export function extract(
  config: Config,
  choice: SourceChoice,
  options: CommandExtractOptions,
): Promise<ExtractionSummary> {
  return extraction.extract(config, choice, { ...options, secrets: secretsOf(config) });
}

/** Estimates the cost of `extract`. */
export function estimateExtraction(
  config: Config,
  choice: SourceChoice,
  options: CommandExtractOptions,
): Promise<Estimate> {
  return extraction.estimateExtraction(config, choice, { ...options, secrets: secretsOf(config) });
}

/** Like `extract`, and reports the run to the server. */
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
    reporter.onEvent(emitted);
  };
  try {
    const result = await extract(config, choice, { ...options, onSecret, onEvent });
    const { session, state } = result;
    await reporter.end({ ...reportOf(extraction.figuresOf(result)), session, state });
    return result;
  } catch (error) {
    const state = options.signal.aborted ? 'interrupted' : 'failed';
    await reporter.end({ state, message: redactor.text(messageOf(error)).slice(0, 2000) });
    throw error;
  } finally {
    await reporter.close();
  }
}

type ReportedFigures = Omit<ExtractionRunReport, 'id' | 'source' | 'vault' | 'session' | 'state' | 'message'>;

const reportOf = (figures: RunFigures) => snakeCaseKeys(figures) as ReportedFigures;

const reportIntervalMs = 1_000;
/** Delay before a server is searched for again after none was found, or it did not respond. */
const searchIntervalMs = 5_000;
const reportTimeoutMs = 2_000;
/** Timeout of the last report: a command ends within two seconds after Ctrl-C. */
const lastReportTimeoutMs = 500;

/** Reports from `extraction:started` on: before that there is no run. */
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

  onEvent({ name, payload }: EmittedEvent): void {
    if (name === 'extraction:started') {
      const { source, vault: file, session } = payload as Record<'source' | 'vault' | 'session', string>;
      const vault = vaultName(file, this.#config.data.folder);
      const figures = reportOf(extraction.noFigures);
      const id = systemIds.uuid();
      this.#report = { id, source, vault, session, state: 'running', message: null, ...figures };
    } else if (name === 'extraction:progress' && this.#report) {
      const figures = extraction.figuresOf(payload as unknown as ProgressFigures);
      this.#report = { ...this.#report, ...reportOf(figures) };
    } else return;
    if (this.#sending === null && systemClock.monotonic() >= this.#notBefore)
      void this.#send(reportTimeoutMs);
  }

  /** Sends the last report, and waits for it only for a moment. */
  async end(change: Partial<ExtractionRunReport>): Promise<void> {
    if (!this.#report) return;
    this.#report = { ...this.#report, ...change };
    const last = async () => {
      await this.#sending;
      if (this.#session) await this.#send(lastReportTimeoutMs);
    };
    const timeout = { clock: systemClock, timeoutMs: lastReportTimeoutMs };
    await withTimeout(last, timeout).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#transport?.close().catch(() => undefined);
  }

  #send(timeoutMs: number): Promise<void> {
    this.#sending = this.#trySending(AbortSignal.timeout(timeoutMs)).finally(() => (this.#sending = null));
    return this.#sending;
  }

  async #trySending(signal: AbortSignal): Promise<void> {
    try {
      this.#transport ??= createUndiciTransport({});
      this.#session ??= await localSession(this.#config, this.#transport, { signal });
      if (this.#session && this.#report)
        await callApi(this.#session, 'POST /api/v1/extraction/runs/report', { body: this.#report, signal });
    } catch {
      this.#session = null;
    }
    this.#notBefore = systemClock.monotonic() + (this.#session ? reportIntervalMs : searchIntervalMs);
  }
}
