// The demo consists of steps, each of which runs once and uses only the server's API.
import type { ExtractionRun } from '../../api/extraction.ts';
import type { ApiTransport } from '../../api/client.ts';
import type { Clock, HttpTransport } from '../../core/index.ts';
import type { LookerSimulator } from '../../simulators/looker/types.ts';
import type { ModelsSimulator } from '../../simulators/models/index.ts';
import type { DemoState } from './folder.ts';

/** The simulators that the demo's server uses. */
export interface Upstreams {
  readonly looker: LookerSimulator;
  readonly models: ModelsSimulator;
  readonly ports: DemoState['ports'];
  stop(): Promise<void>;
}

export interface StepProgress {
  readonly done: number;
  readonly total: number | null;
  readonly message: string;
  /** The extraction run, in steps that extract. */
  readonly run?: ExtractionRun;
}

/** How the demo reads documents; the command line uses the same for `headworks ingest`. */
export interface DocumentSources {
  /** The documents of a folder, as bodies of ingest requests. */
  ofFolder(folder: string): AsyncIterable<{ readonly path: string; readonly file: object }>;
  /** The items of a vault, as bodies of ingest requests; `type` is the item's type. */
  ofVault(file: string, dataFolder: string): AsyncIterable<{ readonly type: string; readonly body: object }>;
}

export interface DemoContext {
  /** The only way to the server: nothing is written into a store directly. */
  readonly client: ApiTransport & { readonly url: string };
  readonly documents: DocumentSources;
  readonly upstreams: Upstreams;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For calls with an organization key. */
  readonly transport: HttpTransport;
  /** By organization. */
  readonly keys: ReadonlyMap<string, string>;
  readonly keep: (organization: string, key: string) => Promise<void>;
  readonly show: (progress: StepProgress) => void;
}

export interface Step {
  readonly name: string;
  /** Shown while it runs. */
  readonly title: string;
  /** Runs, or continues after an interruption; returns a one-sentence summary. */
  run(context: DemoContext): Promise<string>;
}

const pollMs = 150;

/** Polls until it is done. */
export async function until(
  { clock, signal }: Pick<DemoContext, 'clock' | 'signal'>,
  isDone: () => Promise<boolean>,
): Promise<void> {
  while (!(await isDone())) await clock.sleep(pollMs, signal);
}
