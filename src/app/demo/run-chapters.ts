// Runs the demo's chapters that have not come to their end yet, in order.
import type { Clock } from '../../core/index.ts';
import { createUndiciTransport } from '../../platform/http-client/index.ts';
import type { HeadworksClient } from '../client/session.ts';
import type { Chapter, ChapterProgress, Stage } from './chapter.ts';
import type { DemoMemory } from './demo-folder.ts';
import { writeMemory } from './demo-folder.ts';
import type { DemoWorld } from './demo-world.ts';
import { ensureModels, ensureSource } from './ensure-upstreams.ts';
import { changesChapter, extractionChapter } from './extraction-chapter.ts';
import { documentsChapter, reviewChapter, throttledChapter, vaultChapter } from './knowledge-chapters.ts';
import { modelsChapter } from './models-chapter.ts';
import { executionsChapter, tenantsChapter } from './tenants-chapter.ts';

/** In this order: models are throttled last, so that there is something left to repair. */
const chapters: readonly Chapter[] = [
  modelsChapter,
  extractionChapter,
  changesChapter,
  documentsChapter,
  vaultChapter,
  reviewChapter,
  tenantsChapter,
  executionsChapter,
  throttledChapter,
];

/** Told what happens, chapter by chapter. */
export interface ChapterScreen {
  begin(chapter: Pick<Chapter, 'name' | 'title'>): void;
  show(progress: ChapterProgress): void;
  /** What came of it. */
  end(summary: string): void;
}

export interface ChapterParts {
  readonly client: HeadworksClient;
  readonly world: DemoWorld;
  readonly dataFolder: string;
  readonly memory: DemoMemory;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly screen: ChapterScreen;
}

/** The memory as it is then. What was done before is left alone; rejects when the signal aborts. */
export async function runChapters(parts: ChapterParts): Promise<DemoMemory> {
  const { client, world, dataFolder, clock, signal, screen } = parts;
  let memory: DemoMemory = { ...parts.memory, ports: world.ports };
  const remember = async (change: Partial<DemoMemory>): Promise<void> => {
    memory = { ...memory, ...change };
    await writeMemory(dataFolder, memory);
  };
  const transport = createUndiciTransport({});
  const keys = new Map(Object.entries(memory.keys));
  const stage: Stage = {
    client,
    world,
    dataFolder,
    clock,
    signal,
    transport,
    keys,
    keep: async (organization, key) => {
      keys.set(organization, key);
      await remember({ keys: Object.fromEntries(keys) });
    },
    show: (progress) => screen.show(progress),
  };
  try {
    await remember({});
    if (memory.done.length > 0) await Promise.all([ensureModels(stage), ensureSource(stage)]);
    for (const chapter of chapters.filter(({ name }) => !memory.done.includes(name))) {
      signal.throwIfAborted();
      screen.begin(chapter);
      screen.end(await chapter.run(stage));
      await remember({ done: [...memory.done, chapter.name] });
    }
    return memory;
  } finally {
    await transport.close();
  }
}
