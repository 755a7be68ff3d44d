// The demo consists of steps, each of which runs once and uses only the server's API.
import type { ApiArguments, ApiResponse, ApiRoute, ApiTransport } from '../../api/client.ts';
import { callApi } from '../../api/client.ts';
import type { ExtractionRun } from '../../api/extraction.ts';
import type { Clock, HttpTransport } from '../../core/index.ts';
import type { Upstreams } from './upstreams.ts';

export interface StepProgress {
  readonly done: number;
  readonly total: number | null;
  readonly message: string;
  /** The extraction run, in steps that extract. */
  readonly run?: ExtractionRun;
}

/** How the demo reads documents. One implementation: the command line passes the code of `headworks ingest`. */
export interface DocumentSources {
  /** The documents of a folder, as bodies of ingest requests. */
  ofFolder(folder: string): AsyncIterable<{ readonly path: string; readonly file: object }>;
  /** The items of a vault, as bodies of ingest requests; `type` is the item's type. */
  ofVault(file: string, dataFolder: string): AsyncIterable<{ readonly type: string; readonly body: object }>;
}

export type DemoApi = <Route extends ApiRoute>(
  route: Route,
  ...input: ApiArguments<Route>
) => Promise<ApiResponse<Route>>;

/** Calls of the server's API, all with the same signal. */
export const demoApi =
  (client: ApiTransport, signal: AbortSignal): DemoApi =>
  (route, ...[input]) =>
    callApi(client, route, ...([{ ...input, signal }] as never));

export interface DemoContext {
  /** The only way to the server: nothing is written into a store directly. */
  readonly api: DemoApi;
  /** Address of the server. */
  readonly url: string;
  readonly documents: DocumentSources;
  readonly upstreams: Upstreams;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For calls with an organization key. */
  readonly transport: HttpTransport;
  /** Organization keys by organization. */
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
