// What the demo is made of: chapters that do something through the server's API, once.
import type { ExtractionRun } from '../../api/extraction.ts';
import type { Clock, HttpTransport } from '../../core/index.ts';
import type { HeadworksClient } from '../client/session.ts';
import type { DemoWorld } from './demo-world.ts';

export interface ChapterProgress {
  readonly done: number;
  readonly total: number | null;
  readonly message: string;
  /** Of an extraction: all of it. */
  readonly run?: ExtractionRun;
}

export interface Stage {
  /** Everything goes through it: nothing is written into a store behind the server's back. */
  readonly client: HeadworksClient;
  readonly world: DemoWorld;
  readonly dataFolder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For calls with an organization's key. */
  readonly transport: HttpTransport;
  /** By organization. */
  readonly keys: ReadonlyMap<string, string>;
  readonly keep: (organization: string, key: string) => Promise<void>;
  readonly show: (progress: ChapterProgress) => void;
}

export interface Chapter {
  readonly name: string;
  /** What it does, for a person who watches. */
  readonly title: string;
  /** Does it, or goes on where it was interrupted; tells what came of it in a sentence. */
  run(stage: Stage): Promise<string>;
}

const lookAgainMs = 150;

/** Looks until it is done. */
export async function until(
  { clock, signal }: Pick<Stage, 'clock' | 'signal'>,
  isDone: () => Promise<boolean>,
): Promise<void> {
  while (!(await isDone())) await clock.sleep(lookAgainMs, signal);
}
