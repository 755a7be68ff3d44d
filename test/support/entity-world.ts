// Resolution on a real store, with components that reply, fail, hang or return invalid data as a test requires.
import { silentLog } from '../../src/core/index.ts';
import { modelCircuitBreaker, retryOnConflict } from '../../src/knowledge/degradations.ts';
import { EntityService } from '../../src/knowledge/entities/entity-service.ts';
import { EntityStore } from '../../src/knowledge/entities/entity-store.ts';
import { MergeStore } from '../../src/knowledge/entities/merge-store.ts';
import { PairStore } from '../../src/knowledge/entities/pair-store.ts';
import type { ReconcileDeps } from '../../src/knowledge/entities/reconcile.ts';
import { EntityRepairs } from '../../src/knowledge/entities/reconcile.ts';
import { EntityResolver } from '../../src/knowledge/entities/resolve-mentions.ts';
import type {
  ContextClues,
  EntityMention,
  EntityResolutionResult,
  EntityType,
  MentionPlace,
  ReadEvent,
  Space,
} from '../../src/knowledge/index.ts';
import type { Embedder } from '../../src/knowledge/vectors/embedders.ts';
import type { LanguageModel } from '../../src/knowledge/models/structured-output.ts';
import type { KnowledgeWorld } from './knowledge-world.ts';
import { embeddersOf } from './knowledge-world.ts';

/** `Alice Chen`, or with clues, or with its position. */
export type MentionInput =
  | string
  | ({
      readonly name: string;
      readonly type?: EntityType;
      readonly as?: string;
      readonly at?: number;
    } & ContextClues);

export function mentionOf(request: MentionInput, index = 0): EntityMention {
  const {
    name,
    type = 'person',
    as,
    at,
    ...contextClues
  } = typeof request === 'string' ? { name: request } : request;
  return {
    ref: `m${index}`,
    surfaceForm: as ?? name,
    canonicalSuggestion: name,
    type,
    contextClues,
    startChar: at ?? null,
    endChar: at === undefined ? null : at + (as ?? name).length,
    confidence: 0.9,
    method: 'rules',
  };
}

/** Returns the given replies in turn and records the requests. */
export class ScriptedModel implements LanguageModel {
  readonly questions: Parameters<LanguageModel['complete']>[0][] = [];
  readonly #answers: (string | Error)[];
  isAvailable = true;

  constructor(...answers: (string | Error)[]) {
    this.#answers = answers;
  }

  isConfigured(): boolean {
    return this.isAvailable;
  }

  async complete(
    request: Parameters<LanguageModel['complete']>[0],
  ): Promise<{ text: string; model: string }> {
    this.questions.push(request);
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    if (answer === 'hang') return new Promise(() => undefined);
    if (answer instanceof Error || answer === undefined) throw answer ?? new Error('no answer');
    return { text: answer, model: 'scripted' };
  }
}

export const noModel = new ScriptedModel();
noModel.isAvailable = false;

export interface EntityWorldOptions {
  readonly model?: LanguageModel;
  readonly embedder?: Embedder | null;
  readonly change?: Partial<ReconcileDeps>;
}

export function entityWorld(
  world: KnowledgeWorld,
  { model = noModel, embedder = null, change = {} }: EntityWorldOptions = {},
) {
  const { database, clock, ids, ledger, options } = world;
  const entities = new EntityStore(database);
  const pairs = new PairStore(database);
  const merges = new MergeStore(database, ids);
  const deps: ReconcileDeps = {
    clock,
    ids,
    log: silentLog,
    ledger,
    entities,
    pairs,
    merges,
    spaces: world.spaces,
    embedders: embeddersOf(embedder),
    model,
    options,
    breaker: modelCircuitBreaker(clock, options),
    ...change,
  };
  const resolver = new EntityResolver(deps);
  const { signal } = new AbortController();
  /** Resolves in a new artifact with one chunk and writes the mentions, as ingest does. */
  async function read(space: Space, requests: readonly MentionInput[], events: readonly ReadEvent[] = []) {
    const { artifactUid, revisionId, stored } = await world.accept(space, {
      text: `A note of ${ids.uuid()}.`,
    });
    const chunkId = stored[0]?.chunkId ?? 0;
    const place = { spaceId: space.spaceId, artifactUid, revisionId, chunkId };
    const mentions = requests.map(mentionOf);
    const results = await retryOnConflict(async () => {
      const resolved = await resolver.resolve(mentions, place, 'admin', signal);
      await world.events.write(place, 'rules', { mentions, results: resolved, events });
      return resolved;
    });
    return { results, place, ids: results.map(({ entityId }) => entityId) };
  }
  return {
    entities,
    pairs,
    merges,
    resolver,
    repairs: new EntityRepairs(deps),
    service: new EntityService({ clock, ids, entities, pairs, merges }),
    signal,
    read,
    /** Resolves in a new artifact and writes nothing else. */
    resolve: async (
      space: Space,
      requests: readonly MentionInput[],
    ): Promise<readonly EntityResolutionResult[]> =>
      resolver.resolve(requests.map(mentionOf), await placeIn(world, space), 'admin', signal),
  };
}

/** A location in a new artifact as a whole. */
export async function placeIn(world: Pick<KnowledgeWorld, 'accept'>, space: Space): Promise<MentionPlace> {
  const { artifactUid, revisionId } = await world.accept(space, { text: 'A note.' });
  return { spaceId: space.spaceId, artifactUid, revisionId, chunkId: null };
}

/** An event with these mentions, by index, as participants. */
export const eventOf = (
  actors: readonly number[],
  subject: number | null = null,
  [startChar, endChar]: readonly [number, number] = [0, 6],
): ReadEvent => ({
  category: 'Decision',
  eventTime: null,
  narrative: 'It was decided.',
  subjectRef: subject === null ? null : `m${subject}`,
  subject: null,
  actors: actors.map((index) => ({ ref: `m${index}`, role: 'owner' })),
  evidence: [{ quote: 'A note', startChar, endChar }],
  confidence: 0.5,
});
